"""The client of Lately: `Lately` blocks, `AsyncLately` is for asyncio.

`api` has the types of the API, and a function for each of its requests.
"""

from . import api
from .aio.client import AsyncLately
from .cost import Cost
from .following import Followed
from .options import Call
from .problem import LatelyProblem
from .request import Request
from .sync.client import Lately

__version__ = "0.1.0"

__all__ = ["AsyncLately", "Call", "Cost", "Followed", "Lately", "LatelyProblem", "Request", "api"]
