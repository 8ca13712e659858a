//! A segment: one piece of a report, some megabytes of lines with the ids of their events.

use lately_model::Event;

use crate::limits::{LINE_BYTES, SEGMENT_BYTES};

/// A segment that is being filled.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub(crate) lines: Vec<u8>,
    pub(crate) ids: Vec<u8>,
}

impl Segment {
    /// Adds an event.
    pub(crate) fn push(&mut self, event: &Event) {
        // The whole capacity is reserved at once, so that the lines are never copied while they grow. Pages that are
        // never written take no memory.
        self.lines.reserve_exact((SEGMENT_BYTES + LINE_BYTES).saturating_sub(self.lines.len()));
        let start = self.lines.len();
        serde_json::to_writer(&mut self.lines, event).expect("an event is JSON, and memory takes it");
        // Data is the client's own text, so it may contain line breaks between its values. JSON strings contain none.
        for byte in &mut self.lines[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.lines.push(b'\n');
        self.ids.extend_from_slice(event.id.as_uuid().as_bytes());
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.lines.len() >= SEGMENT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lately_keys::limits::{EVENT_TYPE_BYTES, NAME_BYTES, SUBJECT_BYTES};
    use lately_model::limits::EVENT_BYTES;

    fn event(data: Option<&str>) -> Event {
        Event {
            id: "0190868b-57e7-7000-80c0-0dd011ec70b5".parse().unwrap(),
            event_type: "paid".parse().unwrap(),
            actor: "ada".parse().unwrap(),
            subject: None,
            data: data.map(|data| data.parse().unwrap()),
        }
    }

    #[test]
    fn the_longest_and_shortest_lines_match_the_limits() {
        let mut segment = Segment::default();
        let data = format!("\"{}\"", "x".repeat(EVENT_BYTES - 2));
        segment.push(&Event {
            event_type: "t".repeat(EVENT_TYPE_BYTES).parse().unwrap(),
            actor: "a".repeat(NAME_BYTES).parse().unwrap(),
            subject: Some("s".repeat(SUBJECT_BYTES).parse().unwrap()),
            ..event(Some(&data))
        });
        assert!(segment.lines.len() <= LINE_BYTES);
        // The shortest line: `limits.rs` derives the most ids of a segment from it.
        let mut segment = Segment::default();
        let shortest = Event { event_type: "t".parse().unwrap(), actor: "a".parse().unwrap(), ..event(None) };
        segment.push(&shortest);
        assert!(segment.lines.len() >= 100, "{}", segment.lines.len());
    }
}
