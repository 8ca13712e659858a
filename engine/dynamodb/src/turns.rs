//! Giving way to other tasks: on a single-threaded runtime, how often decides how tasks interleave.

use std::future::poll_fn;
use std::task::Poll;

/// Lets the other tasks run, so many times.
pub async fn give_way(turns: u64) {
    for _ in 0..turns {
        let mut waited = false;
        poll_fn(|context| {
            if waited {
                return Poll::Ready(());
            }
            waited = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}
