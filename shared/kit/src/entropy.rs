//! The one place that reads the random source. Everything below takes random bits as arguments, so a test
//! passes bits of its own.
//!
//! What is needed: that two processes at the same tick do not give the same id, and that writers spread
//! evenly over shards. Nobody gains anything by guessing an id, since every route asks for a scope and not
//! for knowledge of an id. So this is fast and not for secrets: a token is made by other means.

/// 128 random bits, from a generator of this thread that the operating system's entropy has seeded.
#[must_use]
pub fn random_u128() -> u128 {
    fastrand::u128(..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_random_and_threads_differ() {
        let (ones, zeros) =
            (0..64).map(|_| random_u128()).fold((0, 0), |(ones, zeros), bits| (ones | bits, zeros | !bits));
        assert_eq!((ones, zeros), (u128::MAX, u128::MAX));
        let other = std::thread::spawn(random_u128).join().unwrap();
        assert_ne!(random_u128(), other);
    }
}
