"""All the messages that a link can carry."""

from __future__ import annotations

from agvent.wire.broker_messages import Adverts, Copies, Hello, Routed, Took, Travel
from agvent.wire.client_messages import (
    Advertise,
    Advertised,
    AdvertisementsFound,
    Attach,
    Attached,
    Deliver,
    Done,
    Gap,
    GetAdvertisements,
    Move,
    Publish,
    Published,
    Received,
    Refused,
    Stopped,
    Subscribe,
    Subscribed,
    TypeGone,
    Unadvertise,
    Unsubscribe,
)
from agvent.wire.host_messages import Admit, Admitted, Dispose, GetHostKey, HostKey, Invoke, Invoked, Load

AnyMessage = (
    Hello | Adverts | Copies | Took | Routed | Attach | Attached | Advertise | Unadvertise | Advertised | Subscribe
    | Unsubscribe | Subscribed | Done | Refused | GetAdvertisements | AdvertisementsFound | Publish | Published
    | Deliver | Gap | Received | TypeGone | Move | GetHostKey | HostKey | Admit | Admitted | Invoke | Invoked | Dispose
    | Load | Travel | Stopped
)  # fmt: skip
