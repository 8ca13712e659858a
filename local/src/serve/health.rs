//! The program's health. `/health/live` says that the process answers, `/health` that it can do all of its work.
//!
//! The functions' own `/health` needs nothing but its function. Here fan-out runs in the same process and the data are
//! on this machine's disk, so `/health` answers 503 and names the part that does not work.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lately_kit::code::Code;
use lately_kit::problem::Problem;

use crate::serve::console::ConsoleParts;

/// The bytes that must fit into the folder of the data.
const ROOM_BYTES: usize = 256 * 1024;

impl ConsoleParts {
    /// The parts that do not work now, in one sentence. Empty if all parts work.
    pub(crate) fn trouble(&self) -> String {
        let pumps = self.pumps.iter().filter_map(|(name, pump)| {
            let troubles = pump.troubles().borrow().clone();
            let text = || format!("The stream's mapping to {name} has a problem: {troubles}.");
            (!troubles.is_empty()).then(text)
        });
        let room = self.data.as_deref().and_then(|folder| room(folder).err());
        let room = room.map(|error| format!("The folder of the data cannot be written ({error})."));
        pumps.chain(room).collect::<Vec<_>>().join(" ")
    }
}

/// Checks that a file can be written into a folder.
fn room(folder: &Path) -> io::Result<()> {
    let file = folder.join(".health");
    let written = std::fs::write(&file, vec![0; ROOM_BYTES]);
    // Another check may have removed the file already.
    drop(std::fs::remove_file(&file));
    written
}

/// Answers `GET /health` with 503 while a part does not work. All other requests are passed on.
pub(crate) async fn check(State(parts): State<Arc<ConsoleParts>>, request: Request, next: Next) -> Response {
    let is_check =
        [Method::GET, Method::HEAD].contains(request.method()) && request.uri().path() == "/health";
    let trouble = if is_check { parts.trouble() } else { String::new() };
    if trouble.is_empty() {
        return next.run(request).await;
    }
    Problem::new(Code::Unavailable, trouble).into_response()
}
