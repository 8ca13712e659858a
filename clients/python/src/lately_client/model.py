"""Classes of the caller: `data` of events, profiles and settings is read as such a class, and written from it."""

from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, is_typeddict


def read(model: type[Any] | None, value: Any) -> Any:
    """A JSON object as the class. A TypedDict is only for type checkers."""
    return value if model is None or is_typeddict(model) else model(**value)


def read_events(model: type[Any] | None, body: Any) -> Any:
    """A body that has events, or is one, with the data of each as the class."""
    for event in [*body.get("events", ()), *body.get("late", ())] or [body]:
        if "data" in event:
            event["data"] = read(model, event["data"])
    return body


def written(value: Any) -> Any:
    """A value that is not JSON, as JSON: a time, a dataclass, or a model of Pydantic."""
    if isinstance(value, datetime):
        return time_text(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is neither JSON nor a time, a dataclass or a model of Pydantic")


def time_text(time: datetime) -> str:
    if time.tzinfo is None:
        raise ValueError(f"a time needs a time zone, as datetime.now(UTC) has: {time}")
    return time.isoformat()
