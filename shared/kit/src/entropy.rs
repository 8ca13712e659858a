//! The one place that reads the random source. Everything below takes random bits as arguments, so a test
//! passes bits of its own.
//!
//! Two kinds. For ids, what is needed is that two processes at the same tick do not give the same one, and that
//! writers spread evenly over shards; nobody gains anything by guessing an id, since every route asks for a scope and
//! not for knowledge of an id. So that is fast and not for secrets. A secret comes from the operating system.

/// 128 random bits, from a generator of this thread that the operating system's entropy has seeded.
#[must_use]
pub fn random_u128() -> u128 {
    fastrand::u128(..)
}

/// The operating system has no random bits to give.
#[derive(Debug, thiserror::Error)]
#[error("no random bits: {0}")]
pub struct EntropyError(getrandom::Error);

/// 256 random bits that nobody can guess, straight from the operating system.
///
/// # Errors
/// If it has none to give.
pub fn secret() -> Result<[u8; 32], EntropyError> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(EntropyError)?;
    Ok(bits)
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

    #[test]
    fn every_bit_of_a_secret_is_random() {
        let mut ones = [0; 32];
        for _ in 0..64 {
            let secret = secret().unwrap();
            ones.iter_mut().zip(secret).for_each(|(ones, byte)| *ones |= byte);
        }
        assert_eq!(ones, [u8::MAX; 32]);
    }
}
