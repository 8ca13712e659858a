//! Publishing: writes figures to their committed files, to the pages that show them, and to the pictures.
//!
//! `lab/bench/figures/<subcommand>.json` is one run. `--write` replaces it, fills the blocks of the pages from it, and
//! draws the pictures. A test makes all blocks and pictures again from the committed figures, and fails if one differs.
//! So no figure on a page is written by hand, and none is out of date.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::block::{self, BlockError};
use crate::designs::plot;
use crate::report::Report;

/// The subcommands. Each has a file of figures.
pub const SUBCOMMANDS: [&str; 10] =
    ["cold-start", "designs", "fan-out", "growth", "ids", "live", "local", "overload", "reads", "writes"];

/// The pages outside `docs/`.
const PAGES: [&str; 2] = ["README.md", "shared/keys/README.md"];

/// A published file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file does not contain figures.
    #[error("{}: {source}", path.display())]
    Figures {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
    /// The blocks of a page cannot be filled.
    #[error("{}: {source}", path.display())]
    Page {
        /// The page.
        path: PathBuf,
        /// The reason.
        source: BlockError,
    },
}

/// The committed figures of a subcommand.
pub fn committed(subcommand: &str) -> Result<Report, PublishError> {
    let path = figures(subcommand);
    let text = read(&path)?;
    serde_json::from_str(&text).map_err(|source| PublishError::Figures { path, source })
}

/// The pages that may show figures, in the order of their names.
pub fn pages() -> Result<Vec<PathBuf>, PublishError> {
    let docs = root().join("docs");
    let of_docs = |source| PublishError::File { path: docs.clone(), source };
    let mut pages: Vec<_> = PAGES.iter().map(|page| root().join(page)).collect();
    for entry in fs::read_dir(&docs).map_err(of_docs)? {
        let path = entry.map_err(of_docs)?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

/// Writes a run's figures to their file, to every page, and to the pictures.
pub fn publish(subcommand: &str, report: &Report) -> Result<(), PublishError> {
    write(figures(subcommand), &report.json())?;
    for path in pages()? {
        let page = read(&path)?;
        match block::fill(&page, subcommand, report) {
            Ok(filled) if filled == page => {}
            Ok(filled) => write(path, &filled)?,
            Err(source) => return Err(PublishError::Page { path, source }),
        }
    }
    if subcommand == "designs" {
        for (name, picture) in plot::pictures(report) {
            write(image(name), &picture)?;
        }
    }
    Ok(())
}

/// Fills all pages and draws all pictures from the committed figures, for example after a block was added to a page.
pub fn publish_all() -> Result<(), PublishError> {
    SUBCOMMANDS.iter().try_for_each(|subcommand| publish(subcommand, &committed(subcommand)?))
}

/// The path of a picture.
pub fn image(name: &str) -> PathBuf {
    root().join("docs/images").join(format!("{name}.svg"))
}

fn figures(subcommand: &str) -> PathBuf {
    root().join("lab/bench/figures").join(format!("{subcommand}.json"))
}

fn read(path: &Path) -> Result<String, PublishError> {
    fs::read_to_string(path).map_err(|source| PublishError::File { path: path.to_owned(), source })
}

fn write(path: PathBuf, text: &str) -> Result<(), PublishError> {
    fs::write(&path, text).map_err(|source| PublishError::File { path, source })
}

/// The project's folder.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
