//! Exact sums of JSON numbers.
//!
//! A number's text is parsed exactly, never through a float. A sum has as many decimals as the most precise of its
//! numbers, so amounts with cents add up to an amount with cents. The sum does not depend on the order of its numbers,
//! or on being stored and read again in between.
//!
//! Invariant: time and memory are bounded by [`NUMBER_DIGITS`], whatever exponent a client sends.

use std::fmt;
use std::ops::AddAssign;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::NUMBER_DIGITS;

/// An exact decimal number. Its text has no exponent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decimal(BigDecimal);

/// A number that is not summed because it has too many digits when written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Decimal {
    /// The number of a JSON text; none if the text is not a number.
    pub(crate) fn of_json(text: &str) -> Option<Result<Self, TooLong>> {
        let first = text.bytes().next()?;
        (first == b'-' || first.is_ascii_digit()).then(|| {
            let fits = digits(text).is_some_and(|digits| digits <= NUMBER_DIGITS);
            fits.then(|| text.parse().ok()).flatten().ok_or(TooLong)
        })
    }
}

/// The number of digits of a JSON number when written out; none if they cannot be counted.
fn digits(text: &str) -> Option<usize> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = isize::try_from(exponent).ok()?;
    let whole = whole.trim_start_matches('-').len().checked_add_signed(exponent).unwrap_or(0).max(1);
    let fraction = fraction.len().checked_add_signed(-exponent).unwrap_or(0);
    whole.checked_add(fraction)
}

impl AddAssign<&Self> for Decimal {
    fn add_assign(&mut self, other: &Self) {
        self.0 += &other.0;
    }
}

impl FromStr for Decimal {
    type Err = bigdecimal::ParseBigDecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_plain_string(f)
    }
}

impl Serialize for Decimal {
    /// Serialised as text, because a JSON reader may turn a number into a float.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(texts: &[&str]) -> String {
        let mut sum = Decimal::default();
        texts.iter().for_each(|text| sum += &Decimal::of_json(text).unwrap().unwrap());
        sum.to_string()
    }

    #[test]
    fn sums_are_exact_with_all_their_decimals() {
        assert_eq!(sum(&["0.1", "0.2"]), "0.3");
        assert_eq!(sum(&["1.10", "2.90"]), "4.00");
        assert_eq!(sum(&["9007199254740993", "1"]), "9007199254740994");
        assert_eq!(sum(&["1e3", "-1E-3", "2.5e+1"]), "1024.999");
        assert_eq!(sum(&["-0", "0.00", "-0.0e5"]), "0.00");
        assert_eq!(sum(&["1e30"]), format!("1{}", "0".repeat(30)));
        assert_eq!(sum(&["5", "-7.25"]), "-2.25");
        assert_eq!(sum(&[]), "0");
    }

    #[test]
    fn other_values_are_none_and_long_numbers_are_not_summed() {
        for text in ["\"1\"", "null", "true", "[1]", "{\"a\":1}", ""] {
            assert_eq!(Decimal::of_json(text), None, "{text}");
        }
        let nines = |digits: usize| "9".repeat(digits);
        assert!(Decimal::of_json(&nines(NUMBER_DIGITS)).unwrap().is_ok());
        assert!(Decimal::of_json(&format!("-0.{}", nines(NUMBER_DIGITS - 1))).unwrap().is_ok());
        assert!(Decimal::of_json(&format!("1e{}", NUMBER_DIGITS - 1)).unwrap().is_ok());
        assert!(Decimal::of_json(&format!("1e-{}", NUMBER_DIGITS - 1)).unwrap().is_ok());
        let long = [
            nines(NUMBER_DIGITS + 1),
            format!("0.{}", nines(NUMBER_DIGITS)),
            format!("1e{NUMBER_DIGITS}"),
            format!("1e-{NUMBER_DIGITS}"),
            "1e2147483647".to_owned(),
            "1e-2147483648".to_owned(),
            "1e99999999999999999999".to_owned(),
            "0e99999999999999999999".to_owned(),
        ];
        for text in long {
            assert_eq!(Decimal::of_json(&text), Some(Err(TooLong)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_sum_does_not_depend_on_order_or_storage(
            cents in prop::collection::vec((any::<i64>(), 0..6_u32, -9..9_i32), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let texts: Vec<_> = cents
                .iter()
                .map(|(number, decimals, exponent)| {
                    let (whole, part) = (number / 1000, (number % 1000).unsigned_abs());
                    format!("{whole}.{part:0width$}e{exponent}", width = *decimals as usize + 3)
                })
                .collect();
            let numbers: Vec<_> =
                texts.iter().map(|text| Decimal::of_json(text).unwrap().unwrap()).collect();
            let mut forward = Decimal::default();
            numbers.iter().for_each(|number| forward += number);
            let mut backward = Decimal::default();
            numbers.iter().rev().for_each(|number| backward += number);
            prop_assert_eq!(forward.to_string(), backward.to_string());

            let (before, after) = numbers.split_at(cut.index(numbers.len() + 1));
            let mut resumed = Decimal::default();
            before.iter().for_each(|number| resumed += number);
            let mut resumed: Decimal = resumed.to_string().parse().unwrap();
            after.iter().for_each(|number| resumed += number);
            prop_assert_eq!(resumed.to_string(), forward.to_string());
        }

        #[test]
        fn digits_are_counted_as_written_out(text in "-?(0|[1-9][0-9]{0,12})(\\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?") {
            let number = Decimal::of_json(&text).unwrap().unwrap();
            let written = number.to_string().bytes().filter(u8::is_ascii_digit).count();
            prop_assert!(written <= digits(&text).unwrap() + 1, "{} {}", text, number);
        }
    }
}
