//! The seeds of simulations. Only tests use this crate.
//!
//! A test asks for a number of seeds. By default they are fixed, so every run of the suite checks the same cases. If a
//! test fails, its seed prints how to replay the failure.
//!
//! The environment can choose other seeds:
//!
//! - `LATELY_DRAW=1` draws a tenth of a test's seeds anew, to find cases that the fixed seeds do not cover.
//! - `LATELY_SEED=7` runs only that seed.
//! - `LATELY_SEEDS=1000..2000` runs a range of seeds. `scripts/seeds` does this for every simulation.

use std::env;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::thread;

use crate::simulate;

/// The lowest drawn seed. All fixed seeds are smaller.
const FIRST_DRAWN: u64 = 1_000_000;

/// The number of seeds that can be drawn: too many to run out of, and few enough that each is short to type.
const DRAWABLE: u64 = 1_000_000_000;

/// A seed that prints how to replay it when its test fails.
#[derive(Debug)]
pub struct Seed(pub u64);

impl Drop for Seed {
    #[expect(clippy::print_stderr, reason = "a failure must show how to replay it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("LATELY_SEED={} replays this", self.0);
        }
    }
}

/// The seeds of a test: `count` seeds, or those that the environment names. They are printed to the standard error.
///
/// # Panics
/// If the environment names seeds in an invalid form.
#[expect(
    clippy::print_stderr,
    reason = "a test prints its seeds, and scripts/seeds finds the simulations by this line"
)]
pub fn seeds(count: u64) -> impl DoubleEndedIterator<Item = Seed> + Clone {
    let (fixed, drawn) = match named() {
        Some(range) => (range, Vec::new()),
        None => {
            let drawn = if env::var_os("LATELY_DRAW").is_some() { drawn_of(count) } else { 0 };
            (0..count - drawn, (0..drawn).map(|_| draw()).collect())
        }
    };
    let test = thread::current().name().unwrap_or_default().to_owned();
    eprintln!("seeds of {test}: {fixed:?}, drawn: {drawn:?}");
    fixed.chain(drawn).map(Seed)
}

/// Runs the story of every seed in simulated time, and returns what the stories return. Two threads share the seeds.
///
/// # Panics
/// If a story panics.
pub fn for_each_seed<T: Send>(count: u64, story: impl AsyncFn(u64) -> T + Sync) -> Vec<T> {
    let seeds = seeds(count);
    let half = |rest| {
        let seeds = seeds.clone().filter(move |seed| seed.0 % 2 == rest);
        simulate(async {
            let mut ends = Vec::new();
            for seed in seeds {
                ends.push(story(seed.0).await);
            }
            ends
        })
    };
    thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        let even = half(0);
        let odd = odd.join().expect("the stories of the odd seeds pass");
        odd.into_iter().chain(even).collect()
    })
}

/// True if the environment names the seeds. These may be too few for a test's assertions about many seeds.
pub fn are_named() -> bool {
    named().is_some()
}

fn named() -> Option<Range<u64>> {
    ["LATELY_SEED", "LATELY_SEEDS"].into_iter().find_map(|name| {
        let text = env::var(name).ok()?;
        let range = parse(&text);
        Some(range.unwrap_or_else(|| panic!("{name}={text} is neither a seed (7) nor a range (0..1000)")))
    })
}

/// Parses `7` or `0..1000`.
fn parse(text: &str) -> Option<Range<u64>> {
    match text.split_once("..") {
        Some((from, to)) => Some(from.parse().ok()?..to.parse().ok()?),
        None => text.parse().ok().map(|one| one..one + 1),
    }
}

/// The number of a test's seeds that are drawn: a tenth, but at least one if the test has more than one seed.
fn drawn_of(count: u64) -> u64 {
    (count / 10).max(u64::from(count > 1))
}

/// Draws a seed. The standard library's hasher starts from the system's entropy.
fn draw() -> u64 {
    FIRST_DRAWN + RandomState::new().hash_one(()) % DRAWABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_or_a_range_is_parsed() {
        assert_eq!(parse("7"), Some(7..8));
        assert_eq!(parse("1000..2000"), Some(1000..2000));
        for text in ["", "..", "7..", "a", "-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_tenth_of_the_seeds_is_drawn() {
        assert_eq!([1, 2, 4, 10, 60, 1_000].map(drawn_of), [0, 1, 1, 1, 6, 100]);
        let drawn: Vec<_> = (0..100).map(|_| draw()).collect();
        assert!(drawn.iter().all(|seed| (FIRST_DRAWN..FIRST_DRAWN + DRAWABLE).contains(seed)));
        assert!(drawn.windows(2).any(|two| two[0] != two[1]));
    }
}
