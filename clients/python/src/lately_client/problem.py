"""The one error of this client. Act on `code`, which is stable."""

import json
from errno import errorcode
from typing import Any

import httpx

from .cost import Cost, parse_cost

# Responses that the gateway itself makes have no code.
GATEWAY_CODES = {
    401: "missing-token",
    403: "forbidden",
    404: "route-not-found",
    413: "too-large",
    429: "rate-limited",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}


class LatelyProblem(Exception):
    """A request that failed: a problem of the API, or no response (`unreachable`), or one that is not Lately's."""

    def __init__(self, status: int, code: str, *, detail: str = "", **fields: Any) -> None:
        self.errors: list[dict[str, str]] = fields.get("errors", [])
        """The faults of single fields, each with its path and message."""
        fault = "".join(f" {each['path']}: {each['message']}" for each in self.errors[:1])
        super().__init__(f"{status} {code}: {detail}{fault}")
        self.status = status
        """0 if no response came."""
        self.code = code
        self.detail = detail
        self.title: str = fields.get("title", code)
        self.accepted: list[dict[str, Any]] = fields.get("accepted", [])
        """With `partially-accepted`: the events that were written, each with its index and id."""
        self.rejected: list[dict[str, Any]] = fields.get("rejected", [])
        """With `partially-accepted`: the events that were not written, each with its index and code."""
        self.request_id: str | None = fields.get("request_id")
        self.retry_after: float | None = None
        """The seconds that the server asks to wait."""
        self.revision: str | None = None
        """With `revision-mismatch`: the current revision, if the record exists."""
        self.cost: Cost = {}
        """The price of the failed call."""

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 429, 502, 503) or (self.status == 504 and self.code != "not-yet-visible")

    @property
    def refuses_token(self) -> bool:
        """Whether another token may help. The gateway's own 403, which has no title, does not say why."""
        return self.status == 401 or self.code == "invalid-token" or (self.status == 403 and self.title == self.code)


def problem_of_body(status: int, text: str) -> LatelyProblem:
    """The problem that a body says."""
    try:
        body: Any = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    fields: dict[str, Any] = {str(name): value for name, value in body.items()}  # pyright: ignore
    fields.pop("status", None)
    fields.setdefault("detail", fields.get("message", ""))
    return LatelyProblem(status, fields.pop("code", None) or GATEWAY_CODES.get(status, "invalid-response"), **fields)


def problem_of(response: httpx.Response) -> LatelyProblem:
    """The problem that a response says. Its body must have been read."""
    problem = problem_of_body(response.status_code, response.text)
    retry_after = response.headers.get("Retry-After", "")
    problem.retry_after = float(retry_after) if retry_after.isdigit() else None
    problem.revision = revision_of(response) or None
    problem.cost = parse_cost(response.headers.get("Lately-Cost"))
    return problem


def parse(status: int, text: str) -> Any:
    """The JSON that a successful response sent."""
    try:
        return json.loads(text)
    except ValueError as error:
        detail = "The server sent something that is not JSON."
        raise LatelyProblem(status, "invalid-response", detail=detail) from error


def revision_of(response: httpx.Response) -> str:
    return str(response.headers.get("ETag", "")).replace('"', "")


def unreachable(cause: Exception) -> LatelyProblem:
    """The problem of a request that got no response, with the code of the system's error."""
    detail = str(cause) or type(cause).__name__
    reason: BaseException | None = cause
    while reason is not None:
        if isinstance(reason, OSError) and (code := errorcode.get(reason.errno or 0)):
            return LatelyProblem(0, "unreachable", detail=f"{detail} ({code})")
        reason = reason.__cause__ or reason.__context__
    return LatelyProblem(0, "unreachable", detail=detail)
