//! List prices: data with a date, in `prices.json` or in a file of the same form.
//!
//! The name of a price is the unit that it is for. A price is one number, or falls in tiers with the
//! amount of a month. Each line of a bill is priced alone, although AWS adds up the GB-seconds of all functions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The prices that Lately was released with.
pub(super) const LISTED: &str = include_str!("prices.json");

/// The prices of some Regions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceList {
    date: String,
    regions: BTreeMap<String, BTreeMap<String, Price>>,
}

impl PriceList {
    fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("the prices are invalid: {error}"))
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Price {
    /// The number of units for which the price is.
    per: f64,
    /// A price for any amount.
    dollars: Option<f64>,
    /// The ends of the tiers, in the price's own unit, and the price up to there. The last tier has no end.
    #[serde(default)]
    tiers: Vec<(Option<f64>, f64)>,
}

/// The prices of one Region.
#[derive(Clone, Debug)]
pub struct Prices {
    /// When the prices were read.
    pub date: String,
    /// The Region.
    pub region: String,
    prices: BTreeMap<String, Price>,
}

/// An amount with its price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The units of a month.
    pub amount: f64,
    /// The unit.
    pub unit: &'static str,
    /// The number of units for which the price is.
    pub per: f64,
    /// The price; of tiers, the mean.
    pub price: f64,
    /// The dollars of a month.
    pub dollars: f64,
}

impl Prices {
    /// Reads the prices of a Region.
    ///
    /// # Errors
    /// A sentence, if the text has no such prices.
    pub fn parse(text: &str, region: &str) -> Result<Self, String> {
        let PriceList { date, regions } = PriceList::parse(text)?;
        let Some(prices) = regions.get(region).cloned() else {
            let known: Vec<_> = regions.into_keys().collect();
            return Err(format!("there are no prices of {region}; there are prices of {}", known.join(", ")));
        };
        // The released list has a price of every unit that a bill needs.
        let mut units = PriceList::parse(LISTED)?.regions.into_values().flat_map(BTreeMap::into_keys);
        match units.find(|unit| !prices.get(unit).is_some_and(Price::is_valid)) {
            Some(unit) => Err(format!("the prices of {region} have no valid price of `{unit}`")),
            None => Ok(Self { date, region: region.to_owned(), prices }),
        }
    }

    /// The price of an amount in a month.
    pub(super) fn part(&self, unit: &'static str, amount: f64) -> Part {
        let price = &self.prices[unit];
        let dollars = price.of(amount);
        let each = if amount > 0.0 { dollars / amount * price.per } else { price.of(price.per) };
        Part { amount, unit, per: price.per, price: each, dollars }
    }
}

impl Price {
    /// The tiers; a price for any amount is one without an end.
    fn tiers(&self) -> impl Iterator<Item = (Option<f64>, f64)> {
        self.dollars.map(|dollars| (None, dollars)).into_iter().chain(self.tiers.iter().copied())
    }

    fn is_valid(&self) -> bool {
        let has_one_form = self.dollars.is_some() == self.tiers.is_empty();
        self.per > 0.0 && has_one_form && self.tiers().all(|(_, dollars)| dollars >= 0.0)
    }

    fn of(&self, amount: f64) -> f64 {
        let amount = amount / self.per;
        let (mut sum, mut begin) = (0.0, 0.0);
        for (end, dollars) in self.tiers() {
            let end = end.map_or(amount, |end| end.min(amount));
            sum += (end - begin).max(0.0) * dollars;
            begin = end.max(begin);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tier_has_its_own_price() {
        let prices = Prices::parse(LISTED, "us-east-1").expect("the listed prices");
        assert_eq!(prices.part("requests", 2e6).dollars, 2.0);
        // 300 × 1.00 + 100 × 0.90
        let part = prices.part("requests", 400e6);
        assert_eq!((part.dollars, part.price), (390.0, 0.975));
        // 10,240 × 0.09 + 40,960 × 0.085 + 48,800 × 0.07
        assert_eq!((prices.part("GB sent", 100_000.0).dollars * 10.0).round(), 78_192.0);
        assert_eq!(prices.part("requests", 0.0).price, 1.0);
    }

    #[test]
    fn unknown_regions_and_missing_prices_are_named() {
        let error = |text: &str, region: &str| Prices::parse(text, region).expect_err(region);
        assert_eq!(error(LISTED, "mars-1"), "there are no prices of mars-1; there are prices of us-east-1");
        let missing = LISTED.replace("\"dashboard\"", "\"boards\"");
        assert_eq!(
            error(&missing, "us-east-1"),
            "the prices of us-east-1 have no valid price of `dashboard`"
        );
        assert!(error("{}", "us-east-1").starts_with("the prices are invalid: missing field `date`"));
    }
}
