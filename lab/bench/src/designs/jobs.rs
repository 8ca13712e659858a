//! Runs independent measurements, as many at once as there are processors. Each has its own engine and its own time.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use crate::progress::Progress;

/// A measurement with a name.
pub(super) struct Job<T> {
    pub(super) name: String,
    pub(super) run: Box<dyn FnOnce() -> T + Send>,
}

impl<T> Job<T> {
    pub(super) fn new(name: impl Into<String>, run: impl FnOnce() -> T + Send + 'static) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// Runs the jobs, and returns their results in the order of the jobs.
pub(super) fn run<T: Send>(jobs: Vec<Job<T>>, progress: &Progress) -> Vec<T> {
    progress.expect(jobs.len());
    let found: Mutex<Vec<Option<T>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            threads.spawn(|| {
                while let Some((index, Job { name, run })) = next() {
                    let one = run();
                    found.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(one);
                    progress.done(&name);
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_iter().map(|one| one.expect("every job was run, or the scope panicked")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs = (0..50).map(|n| Job::new("", move || n)).collect();
        assert!(run(jobs, &Progress::silent()).into_iter().eq(0..50));
    }
}
