"""The price of a call, as DynamoDB reported it in the header `Lately-Cost`."""

from typing import TypedDict, cast


class Cost(TypedDict, total=False):
    read_units: float
    write_units: float
    calls: float
    items: float
    rounds: float


def parse_cost(header: str | None) -> Cost:
    """Reads `read_units=4.5, calls=9, items=58, rounds=1`. A response without the header cost nothing."""
    fields = (each.partition("=") for each in (header or "").split(", "))
    return cast(Cost, {name: float(value) for name, _, value in fields if value})


def add_costs(one: Cost, other: Cost) -> Cost:
    sums = cast(dict[str, float], {**one})
    for name, value in cast(dict[str, float], other).items():
        sums[name] = sums.get(name, 0) + value
    return cast(Cost, sums)
