//! Reads a wave round by round: sends the queries of a round together, until the wanted items are exact.

use lately_table::TableError;

use crate::at_once::collect_all;
use crate::latest::page::{Budget, PageItem};
use crate::latest::wave::{Ask, LaneAnswer, Wave, WaveLane};
use crate::limits::{EXPECTED_EVENT_BYTES, QUERIES_AT_ONCE};
use crate::op::Op;

/// The reader of one page: of a topic, or of a timeline.
pub(crate) trait WaveReader {
    type Item: PageItem;

    fn op(&self) -> &Op;

    /// The work that the page has done so far.
    fn budget(&mut self) -> &mut Budget;

    /// The expected size of a stored item.
    fn item_bytes(&self) -> u32 {
        EXPECTED_EVENT_BYTES
    }

    /// Queries one lane.
    async fn query(&self, ask: Ask, lane: &WaveLane) -> Result<LaneAnswer<Self::Item>, TableError>;

    /// Adds the answers to a round's asks to the wave. Returns true if they have added lanes to it.
    fn add(&mut self, wave: &mut Wave<Self::Item>, answers: Vec<LaneAnswer<Self::Item>>) -> bool;

    /// True if the page has used up its budget.
    fn is_spent(&mut self) -> bool {
        let is_over = self.op().table.is_spent();
        self.budget().is_spent(is_over)
    }

    /// Reads a wave until its first `wanted` items are exact, or take up the page's room, or the budget is spent, or a
    /// partition was searched as far as a page may. The first round is always made, and a round for new lanes, so each page gets further than the one before.
    async fn read(
        &mut self,
        wave: &mut Wave<Self::Item>,
        wanted: usize,
        room: usize,
    ) -> Result<(), TableError> {
        let mut is_certain = wave.rounds == 0;
        loop {
            let asks = wave.asks(wanted, self.item_bytes());
            if asks.is_empty() {
                return Ok(());
            }
            let exact_bytes: usize = wave.settled().iter().map(PageItem::sent_bytes).sum();
            let is_searched = asks.iter().any(|ask| wave.is_searched(ask.lane));
            if !is_certain && (self.is_spent() || is_searched || exact_bytes > room) {
                wave.cut();
                return Ok(());
            }
            self.op().table.meter().round();
            let queries = asks.into_iter().map(|ask| self.query(ask, wave.lane(ask.lane)));
            let answers = collect_all(QUERIES_AT_ONCE, queries).await?;
            for LaneAnswer { ask, found, .. } in &answers {
                let is_sparse = wave.lane(ask.lane).is_sparse;
                self.budget().count(is_sparse.then_some(found.read));
            }
            is_certain = self.add(wave, answers);
        }
    }
}
