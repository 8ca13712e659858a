//! Yielding to other tasks. On a single-threaded runtime the number of turns decides how tasks interleave.

use std::future::poll_fn;
use std::task::Poll;

/// Lets the other tasks run `turns` times.
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
