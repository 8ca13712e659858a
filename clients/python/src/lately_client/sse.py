"""Parses `text/event-stream`, line by line."""

import re
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


# `str.splitlines` would split at characters that may be in the data. A CR at the end may be half of a line end.
LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")


class FrameParser:
    """Takes text and returns frames. A frame that is incomplete because of a cut is never returned."""

    def __init__(self) -> None:
        self._rest = ""
        self._frame = Frame()

    def frames(self, text: str) -> list[Frame]:
        """Takes the next part of the text. Returns the frames that it completes."""
        *lines, self._rest = LINE_END.split(self._rest + text)
        return [frame for line in lines if (frame := self._line(line)) is not None]

    def _line(self, text: str) -> Frame | None:
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
