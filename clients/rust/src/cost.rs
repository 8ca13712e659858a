//! The price of a call, as DynamoDB reported it in the header `Lately-Cost`.

use std::fmt;
use std::ops::AddAssign;

use reqwest::header::HeaderMap;

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
    /// The price in the headers of a response.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let header = headers.get("lately-cost").and_then(|cost| cost.to_str().ok());
        Self::parse(header.unwrap_or_default())
    }

    /// Reads `read_units=4.5, calls=9, items=58, rounds=1`. Fields of a later server are ignored.
    fn parse(header: &str) -> Self {
        let mut cost = Self::default();
        for (name, value) in header.split(", ").filter_map(|field| field.split_once('=')) {
            match name {
                "read_units" => cost.read_units = value.parse().unwrap_or_default(),
                "write_units" => cost.write_units = value.parse().unwrap_or_default(),
                "calls" => cost.calls = value.parse().unwrap_or_default(),
                "items" => cost.items = value.parse().unwrap_or_default(),
                "rounds" => cost.rounds = value.parse().unwrap_or_default(),
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
        let parts = [
            ("read_units", read_units.to_string()),
            ("write_units", write_units.to_string()),
            ("calls", calls.to_string()),
            ("items", items.to_string()),
            ("rounds", rounds.to_string()),
        ];
        let paid = parts.iter().filter(|(_, value)| value != "0");
        let paid: Vec<_> = paid.map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&paid.join(", "))
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
