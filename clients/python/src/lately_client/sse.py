"""Parses `text/event-stream`, line by line."""

from dataclasses import dataclass, field


@dataclass
class Frame:
    event: str = "message"
    id: str | None = None
    """None if the frame has none: the position stays."""
    lines: list[str] = field(default_factory=list[str])

    @property
    def data(self) -> str:
        return "\n".join(self.lines)


class FrameParser:
    """Takes lines and returns frames. A frame that is incomplete because of a cut is never returned."""

    def __init__(self) -> None:
        self._frame = Frame()

    def line(self, text: str) -> Frame | None:
        """Takes a line without its end. Returns the frame that the line completes."""
        if text == "":
            frame, self._frame = self._frame, Frame()
            return frame if frame.lines or frame.id is not None else None
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._frame.event = value
        elif name == "id":
            self._frame.id = value
        elif name == "data":
            self._frame.lines.append(value)
        return None
