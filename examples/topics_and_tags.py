"""Topics, patterns, channels, types and tags beside content, in one index.

python examples/topics_and_tags.py
"""

from __future__ import annotations

from agvent import Event, Subscriptions


def main() -> None:
    wanted = Subscriptions()
    wanted.add("scores", topic="Sports/NBA")
    wanted.add("all sports", pattern="Sports/#")
    wanted.add("high scores", "score > 120", pattern="Sports/+")
    wanted.add("channel 42", channel=42)
    wanted.add("red Fords", "Make=Ford,Model=*,Color=Red", language="tags")
    wanted.add("vehicles", type="Vehicle")

    for event in (
        Event(topic="Sports/NBA", attributes={"score": 101}),
        Event(topic="Sports/NFL", attributes={"score": 121}),
        Event(channel=42),
        Event(type="Car", ancestors=("Vehicle",), attributes={"Make": "Ford", "Model": "T", "Color": "Red"}),
        Event(attributes={"Make": "Ford", "Color": "Red"}),
    ):
        print(wanted.match(event))


if __name__ == "__main__":
    main()
