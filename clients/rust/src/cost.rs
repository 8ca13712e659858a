//! The price of a call, as DynamoDB reported it in the header `Lately-Cost`.

use std::fmt;
use std::ops::AddAssign;

/// A price. A response without the header cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The read units.
    pub read_units: f64,
    /// The write units.
    pub write_units: f64,
    /// The calls of DynamoDB.
    pub calls: u64,
    /// The items that were read.
    pub items: u64,
    /// The rounds of parallel queries.
    pub rounds: u64,
}

impl Cost {
    /// Reads `read_units=4.5, calls=9, items=58, rounds=1`. Fields of a later server are ignored.
    pub(crate) fn parse(header: &str) -> Self {
        let mut cost = Self::default();
        for (name, value) in header.split(", ").filter_map(|field| field.split_once('=')) {
            let whole = || value.parse().unwrap_or_default();
            let units = || value.parse().unwrap_or_default();
            match name {
                "read_units" => cost.read_units = units(),
                "write_units" => cost.write_units = units(),
                "calls" => cost.calls = whole(),
                "items" => cost.items = whole(),
                "rounds" => cost.rounds = whole(),
                _ => {}
            }
        }
        cost
    }
}

impl fmt::Display for Cost {
    /// The form of the header. A part that is zero is absent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read_units, write_units, calls, items, rounds } = self;
        let parts: [(&str, &dyn fmt::Display, bool); 5] = [
            ("read_units", read_units, *read_units > 0.0),
            ("write_units", write_units, *write_units > 0.0),
            ("calls", calls, *calls > 0),
            ("items", items, *items > 0),
            ("rounds", rounds, *rounds > 0),
        ];
        let mut separator = "";
        for (name, value, _) in parts.into_iter().filter(|(_, _, is_paid)| *is_paid) {
            write!(f, "{separator}{name}={value}")?;
            separator = ", ";
        }
        Ok(())
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.calls += other.calls;
        self.items += other.items;
        self.rounds += other.rounds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_added() {
        let mut sum = Cost::parse("read_units=4.5, calls=9, items=58, rounds=1");
        sum += Cost::parse("write_units=2, calls=1, of_a_later_server=7");
        sum += Cost::parse("");
        assert_eq!(sum, Cost { read_units: 4.5, write_units: 2.0, calls: 10, items: 58, rounds: 1 });
        assert_eq!(sum.to_string(), "read_units=4.5, write_units=2, calls=10, items=58, rounds=1");
    }
}
