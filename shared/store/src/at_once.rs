//! Runs futures at the same time, a bounded number of them, and locks what they share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::IntoIter;

use futures_util::stream::{
    self, BufferUnordered, Buffered, Collect, Iter, StreamExt, TryCollect, TryStreamExt,
};

/// Runs all futures, at most so many at the same time. The first failure ends the others.
pub(crate) fn run_each<F: Future<Output = Result<(), E>>, E>(
    most: usize,
    futures: impl IntoIterator<Item = F>,
) -> TryCollect<BufferUnordered<Iter<IntoIter<F>>>, ()> {
    stream::iter(Vec::from_iter(futures)).buffer_unordered(most).try_collect()
}

/// Runs all futures, at most so many at the same time, and returns their results in the order of the futures. The first
/// failure ends the others.
pub(crate) fn collect_all<F: Future<Output = Result<T, E>>, T, E>(
    most: usize,
    futures: impl IntoIterator<Item = F>,
) -> TryCollect<Buffered<Iter<IntoIter<F>>>, Vec<T>> {
    stream::iter(Vec::from_iter(futures)).buffered(most).try_collect()
}

/// Runs all futures, at most so many at the same time, and returns what they return, in no particular order.
pub(crate) fn complete_all<F: Future>(
    most: usize,
    futures: impl IntoIterator<Item = F>,
) -> Collect<BufferUnordered<Iter<IntoIter<F>>>, Vec<F::Output>> {
    stream::iter(Vec::from_iter(futures)).buffer_unordered(most).collect()
}

/// Locks a mutex, also if a thread that held it has panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
