//! The C library's `pow`, which is all that a function has of `libm.so.6`: the SDK takes a root in a retry strategy that is
//! off. With this in the program, the library is not loaded, and not in memory (docs/cold-start.md).

/// `x` to the power of `y`.
#[expect(unsafe_code, reason = "no other pow is linked: the C library's would be, and does the same")]
#[unsafe(no_mangle)]
pub extern "C" fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_root_is_a_power() {
        assert_eq!(super::pow(2.0, 10.0), 1024.0);
        assert!((super::pow(27.0, 1.0 / 3.0) - 3.0).abs() < 1e-12);
        assert!(super::pow(-1.0, 0.5).is_nan());
    }
}
