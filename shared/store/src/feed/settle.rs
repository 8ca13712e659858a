//! Settling a part of a feed: it follows from what the user follows and from which events exist, and both may change while
//! the part is written. So after each round of writes everything is read again, consistently, until nothing has changed.
//! Fan-out handles every later change, after these writes.

use lately_table::{Rounds, Table, TableError};

/// Reads the wanted state of something, and writes it, until the state has not changed meanwhile.
pub(crate) async fn settle<T: Clone + PartialEq, Reading, Writing>(
    table: &Table,
    subject: &'static str,
    read: impl Fn() -> Reading,
    write: impl Fn(T) -> Writing,
) -> Result<(), TableError>
where
    Reading: Future<Output = Result<T, TableError>>,
    Writing: Future<Output = Result<(), TableError>>,
{
    let mut wanted = read().await?;
    let mut rounds = Rounds::of(table, subject);
    loop {
        write(wanted.clone()).await?;
        let now = read().await?;
        if now == wanted {
            return Ok(());
        }
        wanted = now;
        rounds.lose()?;
    }
}
