"""Decides whether to send a request again, and after which pause."""

import random
from typing import Any

from .problem import LatelyProblem
from .request import Request

# A pause beyond this is the caller's decision.
LONGEST_RETRY_AFTER = 60
LONGEST_BACKOFF = 5


def may_repeat(request: Request[Any], problem: LatelyProblem) -> bool:
    if (problem.retry_after or 0) > LONGEST_RETRY_AFTER:
        return False
    # 429 says that nothing was done.
    return problem.status == 429 or (problem.is_temporary and request.is_repeatable)


def pause(attempt: int, backoff: float, problem: LatelyProblem | None = None) -> float:
    """The seconds to wait: as long as the server asks, or a random time that grows."""
    if problem is not None and problem.retry_after is not None:
        return problem.retry_after + random.random() * backoff
    # The exponent is bounded, because a follower may count thousands of failures.
    return random.random() * min(LONGEST_BACKOFF, backoff * 2.0 ** min(attempt - 1, 30))
