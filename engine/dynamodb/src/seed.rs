//! Pseudo-random draws from a seed, and the hash of a text. Each is a pure function of its arguments.
//!
//! A draw is an output of SplitMix64. The generator is written out here so that a recorded seed replays the same run
//! for ever, even if a library changes its generator. A draw depends only on its arguments, so no other draw changes
//! it.

/// The `number`-th draw of a stream of draws.
pub fn draw(seed: u64, stream: u64, number: u64) -> u64 {
    finish(finish(seed ^ finish(stream)).wrapping_add(number.wrapping_mul(GOLDEN)))
}

/// The draw as a fraction in `0.0..1.0`.
pub fn fraction(seed: u64, stream: u64, number: u64) -> f64 {
    // 53 bits fill the fraction exactly.
    (draw(seed, stream, number) >> 11) as f64 / (1u64 << 53) as f64
}

/// The draw as a number in `0..=max`.
pub fn up_to(max: u64, seed: u64, stream: u64, number: u64) -> u64 {
    let wide = u128::from(draw(seed, stream, number)) * (u128::from(max) + 1);
    u64::try_from(wide >> 64).expect("the product's upper half is at most max")
}

/// The 64-bit FNV-1a hash. It decides shards, and gives a text a stream of draws of its own.
pub fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn finish(x: u64) -> u64 {
    let x = x.wrapping_add(GOLDEN);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs of the published generator, started at 0.
        assert_eq!(finish(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(finish(GOLDEN), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of the FNV reference.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn draws_fill_their_range_evenly() {
        let draws = 20_000;
        let mut counts = [0u32; 5];
        for n in 0..draws {
            let draw = usize::try_from(up_to(4, 7, 1, n)).unwrap();
            counts[draw] += 1;
        }
        assert!(counts.iter().all(|c| (3_700..4_300).contains(c)), "{counts:?}");
        let mean = (0..draws).map(|n| fraction(7, 2, n)).sum::<f64>() / draws as f64;
        assert!((0.49..0.51).contains(&mean), "{mean}");
    }
}
