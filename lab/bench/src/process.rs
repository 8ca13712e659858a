//! A process under measurement.

use std::io;
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

/// The length of a tick of `/proc`, which is the same on every Linux that Rust supports.
const TICK: Duration = Duration::from_millis(10);

/// A process that is killed when its measurement ends.
#[derive(Debug)]
pub(crate) struct MeasuredProcess(Child);

impl Drop for MeasuredProcess {
    fn drop(&mut self) {
        // An error means that the process has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl MeasuredProcess {
    /// Starts a process.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// The process's standard output, if it is piped and was not taken before.
    pub(crate) fn take_output(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// The process's resident memory, including the shared pages of its binary.
    ///
    /// # Errors
    /// If the system has no `/proc`, which only Linux has.
    pub(crate) fn resident_bytes(&self) -> io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| io::Error::other("/proc/PID/status has no VmRSS"))
    }

    /// The processor time of all threads since the start, also of threads that have ended.
    ///
    /// # Errors
    /// If the system has no `/proc`, which only Linux has.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        // The program's name is in brackets and may hold anything. The times in user and in system mode are fields 12 and
        // 13 of the rest.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = rest.split_whitespace().skip(11).map(|field| field.parse::<u32>().ok());
        let (user, system) = (fields.next().flatten(), fields.next().flatten());
        let ticks = user.zip(system).map(|(user, system)| user + system);
        ticks.map(|ticks| TICK * ticks).ok_or_else(|| io::Error::other("/proc/PID/stat has no times"))
    }
}
