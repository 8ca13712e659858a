//! Waiting for an item that follows from a write: a read repeated until the item shows or time is up.
//!
//! A client that writes and then reads a timeline of a source, a feed or an index may read some hundred milliseconds
//! too early. The pauses between two reads double up to a limit: a short delay is noticed soon, and a long delay does
//! not cost many reads. Each pause is random within its upper half, so that clients that wait for the same item do not
//! read at the same time.

use std::time::Duration;

use lately_keys::QuotaKind;
use lately_model::{Page, WaitSeconds};
use lately_table::{Ambient, entropy_u64};

use crate::error::TimelineError;
use crate::limits::{IDLE_LOOKS, LONGEST_VISIBILITY_WAIT, WAITED_READ, WAITING_LOOK_TIME};
use crate::op::Op;
use crate::quota::QuotaError;
use crate::quota::streams::OpenStream;

/// The pauses between the looks of a page that waits: each until it has waited for so long.
const WAITING_LOOKS: [(Duration, Duration); 2] = [
    (Duration::from_secs(2), Duration::from_millis(250)),
    (Duration::from_secs(6), Duration::from_millis(500)),
];

/// The least pause after a look, for each half unit that it has read. A look at a timeline reads all again that its filter
/// drops. So a page that waits reads at most 16 units a second.
const PAUSE_PER_HALF_UNIT: Duration = Duration::from_micros(31_250);

/// The pause between the first two looks of a wait; each further pause is twice as long.
const FIRST_LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The longest pause between two looks. So a wait is at most about fifteen looks.
const LONGEST_LOOK_AGAIN: Duration = Duration::from_millis(800);

/// Repeats `look` until it returns something; `None` after [`LONGEST_VISIBILITY_WAIT`], or when no time is left.
pub(crate) async fn wait_for<T, E, Looking>(
    ambient: &dyn Ambient,
    time_left: Duration,
    mut look: impl FnMut() -> Looking,
) -> Result<Option<T>, E>
where
    Looking: Future<Output = Result<Option<T>, E>>,
{
    let end = ambient.monotonic() + time_left.min(LONGEST_VISIBILITY_WAIT);
    let mut pause = FIRST_LOOK_AGAIN;
    loop {
        if let Some(seen) = look().await? {
            return Ok(Some(seen));
        }
        let left = end.saturating_sub(ambient.monotonic());
        if left.is_zero() {
            return Ok(None);
        }
        // The last look comes when the time is up.
        tokio::time::sleep(jittered(pause, ambient).min(left)).await;
        pause = (pause * 2).min(LONGEST_LOOK_AGAIN);
    }
}

/// Reads a page, and reads it again while it would be empty, until the time of the wait or the caller's reads are over.
///
/// Each look is a step of the request ([`Op::step_within`]), because the request as a whole takes longer than an
/// operation may. `read` gets the empty page of the look before, which may have come further than the request's cursor.
pub(crate) async fn page_or_wait<P, Reading>(
    op: &Op,
    wait: WaitSeconds,
    read: impl Fn(Op, Option<P>) -> Reading,
    is_empty: impl Fn(&P) -> bool,
) -> Result<P, TimelineError>
where
    Reading: Future<Output = Result<P, TimelineError>>,
{
    if wait == WaitSeconds::default() {
        return Box::pin(read(op.clone(), None)).await;
    }
    let (ambient, whole) = (op.ambient(), Duration::from_secs(wait.get().into()));
    let (begun, mut wait) = (ambient.monotonic(), PageWait { op, whole, open: None, reads: 1 });
    let mut before = None;
    let page = loop {
        let look = op.step_within(WAITING_LOOK_TIME);
        let page = Box::pin(read(look.clone(), before)).await?;
        let waited = ambient.monotonic().saturating_sub(begun);
        if !is_empty(&page) || waited >= whole || !Box::pin(wait.is_permitted(waited)).await? {
            break page;
        }
        let pause = WAITING_LOOKS.into_iter().find(|(until, _)| waited < *until);
        let pause = jittered(pause.map_or(IDLE_LOOKS, |(_, pause)| pause), ambient);
        let rest = PAUSE_PER_HALF_UNIT * u32::try_from(look.cost().read_units.halves).unwrap_or(u32::MAX);
        tokio::time::sleep(pause.max(rest).min(whole - waited)).await;
        before = Some(page);
    };
    if let Some(mut open) = wait.open {
        Box::pin(open.close()).await;
    }
    Ok(page)
}

/// The wait of a page that would be empty.
///
/// A page that waits holds an execution as an open stream does, so it is one of the caller's open streams from its first
/// pause on, and a read for each [`WAITED_READ`] or part of it.
struct PageWait<'a> {
    op: &'a Op,
    whole: Duration,
    open: Option<OpenStream>,
    reads: u32,
}

impl PageWait<'_> {
    /// False if the caller's reads are over: then there is no further look.
    async fn is_permitted(&mut self, waited: Duration) -> Result<bool, TimelineError> {
        let Some(waiter) = self.op.waiter.as_deref() else { return Ok(true) };
        let op = self.op.step();
        if self.open.is_none() {
            self.open = Some(OpenStream::open(&op, &waiter.holder, self.whole).await?);
        }
        if let Some(limit) = waiter.reads
            && waited >= WAITED_READ * self.reads
        {
            match op.quota(&waiter.holder, QuotaKind::Reads, limit).take(1).await {
                Ok(()) => self.reads += 1,
                Err(QuotaError::Over(_)) => return Ok(false),
                Err(QuotaError::Table(error)) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

/// True if a page has nothing to send, and no events behind it.
pub(crate) const fn is_empty<T>(page: &Page<T>) -> bool {
    page.events.is_empty() && !page.has_more
}

/// A random pause between half of this one and all of it.
fn jittered(pause: Duration, ambient: &dyn Ambient) -> Duration {
    let half = pause / 2;
    let micros = u64::try_from(half.as_micros()).unwrap_or(u64::MAX - 1);
    half + Duration::from_micros(entropy_u64(ambient) % (micros + 1))
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::convert::Infallible;

    use tokio::time::Instant;

    use super::*;

    #[derive(Debug)]
    struct World {
        begun: Instant,
        entropy: u128,
    }

    impl Ambient for World {
        fn since_epoch(&self) -> Duration {
            self.begun.elapsed()
        }

        fn monotonic(&self) -> Duration {
            self.begun.elapsed()
        }

        fn entropy(&self) -> u128 {
            self.entropy
        }
    }

    /// Waits for an item that shows after some time. Returns the times of all looks, in milliseconds, and the outcome.
    async fn looks(entropy: u128, budget: Duration, shows: Duration) -> (Vec<u128>, Option<()>) {
        let world = World { begun: Instant::now(), entropy };
        let looks = RefCell::new(Vec::new());
        let look = || async {
            looks.borrow_mut().push(world.begun.elapsed().as_millis());
            Ok::<_, Infallible>((world.begun.elapsed() >= shows).then_some(()))
        };
        let Ok(seen) = wait_for(&world, budget, look).await;
        (looks.into_inner(), seen)
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_a_limit_and_shrink_at_most_by_half() {
        // The shortest possible pauses: 25, 50, 100 … 400 ms.
        let (earliest, seen) = looks(0, Duration::from_secs(10), Duration::from_millis(1_300)).await;
        assert_eq!((&earliest[..6], seen), (&[0, 25, 75, 175, 375, 775][..], Some(())));
        assert_eq!(earliest[6..], [1_175, 1_575]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_after_five_seconds_or_at_the_deadline() {
        for (budget, end) in [(Duration::from_secs(60), 5_000), (Duration::from_secs(2), 2_000)] {
            let (looks, seen) = looks(u128::MAX, budget, Duration::MAX).await;
            assert_eq!((looks.last(), seen), (Some(&end), None), "the last look is at the end");
            assert!(looks.len() < 20, "{looks:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_look_ends_the_wait() {
        let world = World { begun: Instant::now(), entropy: 0 };
        let looked = Cell::new(0);
        let look = || async {
            looked.set(looked.get() + 1);
            if looked.get() < 3 { Ok(None::<()>) } else { Err("broken") }
        };
        assert_eq!(wait_for(&world, Duration::from_secs(10), look).await, Err("broken"));
        assert_eq!(looked.get(), 3);
    }
}
