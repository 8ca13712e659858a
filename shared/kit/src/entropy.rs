//! Random bits. Only this file and `world` of `lately-table` read random sources. All others take random bits as arguments,
//! so a test passes its own bits.
//!
//! There are two sources. Ids need random bits only so that two processes make different ids at the same tick and so
//! that writers spread evenly over shards. Guessing an id gains nothing, because every route requires a scope. So a
//! fast generator that is not fit for secrets makes the bits of ids. Secrets come from the operating system.

pub use lately_table::world::random_u128;

/// The operating system could not give random bits.
#[derive(Debug, thiserror::Error)]
#[error("no random bits: {0}")]
pub struct EntropyError(getrandom::Error);

/// 256 unguessable random bits from the operating system.
///
/// # Errors
/// If the operating system has none to give.
pub fn secret() -> Result<[u8; 32], EntropyError> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(EntropyError)?;
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_an_id_is_random_and_threads_differ() {
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
