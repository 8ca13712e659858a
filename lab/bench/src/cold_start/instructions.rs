//! Counts the instructions of a start. The count is the same on every machine of a kind, even on a busy one.

use std::io::ErrorKind;
use std::process::Command;

use super::Result;
use super::binary::Binary;
use super::platform::RuntimeApi;
use super::process::set_environment;

/// The instructions of a process in user mode until its first poll, including those of the dynamic loader. `None` if
/// valgrind is not installed.
///
/// # Errors
/// If valgrind returns no count.
pub(super) fn to_first_poll(binary: &Binary, api: &RuntimeApi) -> Result<Option<u64>> {
    let folder = tempfile::tempdir()?;
    let counts = folder.path().join("callgrind");
    let mut command = Command::new("valgrind");
    set_environment(&mut command, api, binary);
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(&binary.path);
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        child => child?,
    };
    let poll = api.poll();
    // valgrind writes its counts when it is asked to end. The function waits for an event then, and runs no
    // instructions.
    let asked = Command::new("kill").arg(child.id().to_string()).status();
    child.wait()?;
    poll?;
    asked?;
    let counts = std::fs::read_to_string(counts)?;
    let line = |name| counts.lines().find_map(|line| line.strip_prefix(name));
    let total = line("totals:").or_else(|| line("summary:")).ok_or("valgrind counted nothing")?;
    Ok(Some(total.trim().parse()?))
}
