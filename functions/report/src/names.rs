//! The names of a run's objects, below the output's prefix.
//!
//! ```text
//! {topic}/{consumer}/{incarnation}/{from}--{to}.…                        the run's files: see `RunFiles`
//! .attempts/{topic}/{consumer}/{incarnation}/{to}/{attempt}/…            objects of attempts, until the run is finished
//! ```
//!
//! Private objects are in their own top-level folder, whose name no topic can have. So one lifecycle rule of the bucket
//! can remove the files of a crashed run.
//!
//! Invariant: no private name is written with two different contents. Each attempt's name has 128 random bits.

use std::fmt;

use lately_items::ConsumerKey;
use lately_model::RunFiles;
use lately_store::Run;
use object_store::path::Path;

/// The names of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    prefix: Path,
    /// The names of the files below the prefix.
    pub(crate) files: RunFiles,
    attempts: Path,
}

impl Names {
    pub(crate) fn of(prefix: &Path, run: &Run) -> Self {
        let Run { consumer: ConsumerKey { topic, name }, incarnation, from, to, .. } = run;
        let files = RunFiles::new(topic, name, *incarnation, *from, *to);
        let folder = format!(".attempts/{topic}/{name}/{incarnation}/{to}");
        Self { prefix: prefix.clone(), files, attempts: below(prefix, &folder) }
    }

    /// The final name of a file.
    pub(crate) fn file(&self, name: fn(&RunFiles) -> String) -> Path {
        below(&self.prefix, &name(&self.files))
    }

    /// The folder of all attempts of the run.
    pub(crate) const fn attempts(&self) -> &Path {
        &self.attempts
    }

    /// The manifest of a complete attempt.
    pub(crate) fn manifest(&self, attempt: &str) -> Path {
        self.of_attempt(attempt, "manifest.json")
    }

    /// The summary of an attempt.
    pub(crate) fn summary(&self, attempt: &str) -> Path {
        self.of_attempt(attempt, "summary.json")
    }

    /// The progress of an attempt: its position and its counts.
    pub(crate) fn progress(&self, attempt: &str) -> Path {
        self.of_attempt(attempt, "progress.ndjson")
    }

    /// The events of an attempt's segment.
    pub(crate) fn lines(&self, attempt: &str, segment: u32) -> Path {
        self.of_attempt(attempt, format_args!("{segment:06}.ndjson"))
    }

    /// The ids of an attempt's segment.
    pub(crate) fn ids(&self, attempt: &str, segment: u32) -> Path {
        self.of_attempt(attempt, format_args!("{segment:06}.ids"))
    }

    fn of_attempt(&self, attempt: &str, name: impl fmt::Display) -> Path {
        below(&self.attempts, &format!("{attempt}/{name}"))
    }
}

/// A name of several parts below a folder.
pub(crate) fn below(folder: &Path, name: &str) -> Path {
    name.split('/').fold(folder.clone(), Path::join)
}

#[cfg(test)]
mod tests {
    use lately_keys::EventId;
    use lately_model::{Revision, RunSpec};

    use super::*;

    #[test]
    fn private_and_final_names_are_in_different_folders() {
        let consumer = ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly@eu".parse().unwrap() };
        let id = |at: &str| EventId::last_of(at.parse().unwrap());
        let to = id("2026-11-21T03:15:00.5Z");
        let mut run = Run {
            consumer,
            incarnation: Revision::new(17),
            from: id("2026-11-21T03:00:00Z"),
            to,
            announced_at: to.at(),
            spec: RunSpec::default(),
            progress: None,
            committed: None,
            lease: to.at(),
            holder: 0,
            log_from: 0,
            log_to: 0,
        };
        let names = Names::of(&Path::from("a/reports"), &run);
        let stem = "a/reports/billing/nightly@eu/17/20261121T030000.000Z--20261121T031500.500Z";
        assert_eq!(
            [RunFiles::ids, RunFiles::summary, RunFiles::events].map(|file| names.file(file).to_string()),
            [".ids", ".summary.json", ".ndjson"].map(|extension| format!("{stem}{extension}"))
        );
        let attempts = format!("a/reports/.attempts/billing/nightly@eu/17/{to}");
        assert_eq!(names.attempts().to_string(), attempts);
        let private = [
            names.lines("0f", 7),
            names.ids("0f", 7),
            names.progress("0f"),
            names.manifest("0f"),
            names.summary("0f"),
        ];
        assert_eq!(
            private.map(|name| name.to_string()),
            ["000007.ndjson", "000007.ids", "progress.ndjson", "manifest.json", "summary.json"]
                .map(|name| format!("{attempts}/0f/{name}"))
        );
        run.incarnation = Revision::new(1);
        let at_the_top = Names::of(&Path::default(), &run);
        assert!(at_the_top.file(RunFiles::events).to_string().starts_with("billing/nightly@eu/1/"));
        assert!(at_the_top.attempts().to_string().starts_with(".attempts/billing/"));
    }
}
