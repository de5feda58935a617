"""The style of the report: light and dark by the reader's setting, and plain black on white on paper."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --page: #ffffff; --text: #1c2127; --quiet: #5b6570; --rule: #d5dae0;
  --first: #1f6feb; --second: #c2570c; --fine: #14713a; --broken: #b42318; --shade: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --text: #e4e8ec; --quiet: #9aa5b1; --rule: #333b44;
  --first: #6cabff; --second: #f0a060; --fine: #5fd08a; --broken: #ff8a7a; --shade: #1d232a; } }
@media print { :root { --page: #fff; --text: #000; --quiet: #333; --rule: #999; --first: #1f6feb; --second: #c2570c;
  --fine: #14713a; --broken: #b42318; --shade: #fff; } nav { display: none; } section { break-inside: avoid-page; } }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 24px; } h2 { font-size: 19px; margin: 40px 0 8px; border-bottom: 1px solid var(--rule); }
h3 { font-size: 15px; margin: 16px 0 6px; } code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
a { color: var(--first); } nav ul { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0; list-style: none; }
.verdict { font-size: 18px; font-weight: 600; padding: 10px 14px; border-left: 6px solid var(--quiet);
  background: var(--shade); }
.verdict.fine { color: var(--fine); border-color: var(--fine); }
.verdict.broken { color: var(--broken); border-color: var(--broken); }
.note, footer { color: var(--quiet); font-size: 13px; } footer { margin-top: 48px; }
figure { margin: 12px 0; } figcaption { font-weight: 600; margin-bottom: 6px; }
svg { max-width: 100%; height: auto; font: 12px system-ui, "DejaVu Sans", sans-serif; }
svg .label { fill: var(--text); } svg .value { fill: var(--quiet); } svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .s0 { fill: var(--first); } svg .s1 { fill: var(--second); }
svg .l0, svg .l1 { fill: none; stroke-width: 1.6; stroke-linejoin: round; } svg .l0 { stroke: var(--first); }
svg .l1 { stroke: var(--second); stroke-dasharray: 5 2; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 3px 12px 3px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; } th.number, td.number { text-align: right; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
"""
