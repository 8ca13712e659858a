//! The route that shows the files of reports.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path as FilePath};

use axum::extract::{Path, State};
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use lately_kit::code::Code;
use lately_kit::problem::Problem;

use crate::serve::console::ConsoleState;
use crate::serve::console::limits::REPORT_BYTES;

/// The header of a response that holds only the beginning of the file.
const TRUNCATED: HeaderName = HeaderName::from_static("lately-truncated");

pub(super) async fn get_report(
    State(shared): State<ConsoleState>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let not_found = || Problem::new(Code::NotFound, "There is no report file of this name.");
    if !is_inside(&name) {
        return Err(not_found());
    }
    let (text, is_whole) =
        beginning(&shared.parts.reports.join(&name)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
                not_found()
            }
            _ => Problem::unavailable(&error),
        })?;
    let truncated = (!is_whole).then_some([(TRUNCATED, "true")]);
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], truncated, text).into_response())
}

/// True if a name stays inside the folder. Names that begin with a dot are private to attempts.
fn is_inside(name: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(part) if !part.as_encoded_bytes().starts_with(b"."));
    !name.contains(['\\', '\0']) && FilePath::new(name).components().all(is_plain)
}

/// The first lines of a file, as many as may be shown. True if these are all lines.
fn beginning(path: &FilePath) -> io::Result<(Vec<u8>, bool)> {
    let mut text = Vec::new();
    File::open(path)?.take(REPORT_BYTES + 1).read_to_end(&mut text)?;
    let most = usize::try_from(REPORT_BYTES).unwrap_or(usize::MAX);
    if text.len() <= most {
        return Ok((text, true));
    }
    // Whole lines, unless the first line is longer than the limit.
    let end = text[..most].iter().rposition(|byte| *byte == b'\n').map_or(most, |end| end + 1);
    text.truncate(end);
    Ok((text, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_inside_the_folder() {
        for name in ["billing/report/1/a--b.ndjson", "a"] {
            assert!(is_inside(name), "{name}");
        }
        for name in ["../a", "a/../../b", "/etc/passwd", ".attempts/a", "a/.b", "a\\..\\b", "a\0", ".."] {
            assert!(!is_inside(name), "{name}");
        }
    }

    #[test]
    fn a_long_file_is_shown_up_to_a_whole_line() {
        let folder = tempfile::tempdir().expect("a folder of one's own");
        let file = folder.path().join("a.ndjson");
        let line = format!("{}\n", "x".repeat(999));
        for (lines, shown, is_whole) in [(10, 10, true), (2_000, 1_048, false)] {
            std::fs::write(&file, line.repeat(lines)).expect("it can be written");
            let (text, whole) = beginning(&file).expect("it is there");
            assert_eq!((text.len(), whole), (shown * 1_000, is_whole));
        }
    }
}
