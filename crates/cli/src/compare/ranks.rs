//! Sets of dumps, one of each rank of a program: joined where a tensor is spread over them, or compared rank by rank.

use std::path::{Path, PathBuf};

use opscope::dump::{Shards, StoredDump};
use opscope::text::counted;

use super::Sides;
use crate::exit::{Exit, Failure};
use crate::terminal::print;

/// The dumps of a rank in two sets.
pub(super) struct Pair {
    rank: u64,
    pub compared: PathBuf,
    pub baseline: PathBuf,
}

/// Returns the ranks that are compared one by one; `None` if the sides are not two sets, or their shards are joined.
pub(super) fn pairs(sides: Sides<'_>, shards: &[Shards]) -> Result<Option<Vec<Pair>>, Failure> {
    let (ours, theirs) = (StoredDump::ranks(sides.compared), StoredDump::ranks(sides.baseline));
    if ours.is_empty() || theirs.is_empty() || !shards.is_empty() {
        return Ok(None);
    }
    let ranks = |set: &[(u64, PathBuf)]| set.iter().map(|(rank, _)| *rank).collect::<Vec<_>>();
    if ranks(&ours) != ranks(&theirs) {
        return Err(Failure::wrong_use(format!(
            "{} has {} and {} has {}; --shards joins what is spread over ranks",
            sides.compared.display(),
            counted(ours.len(), "rank"),
            sides.baseline.display(),
            counted(theirs.len(), "rank")
        )));
    }
    let pair = |((rank, compared), (_, baseline))| Pair { rank, compared, baseline };
    Ok(Some(ours.into_iter().zip(theirs).map(pair).collect()))
}

/// Compares one rank after the other. Returns the worst outcome.
pub(super) fn run(pairs: &[Pair], compare: impl Fn(&Pair) -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    let mut worst = Exit::Done;
    for pair in pairs {
        print(format!("rank {}:", pair.rank))?;
        worst = match (compare(pair)?, worst) {
            (Exit::Different, _) | (_, Exit::Different) => Exit::Different,
            (Exit::Incomplete, _) | (_, Exit::Incomplete) => Exit::Incomplete,
            (exit, _) => exit,
        };
    }
    Ok(worst)
}

/// Opens a dump, or joins those of a set of ranks.
pub(super) fn open(path: &Path, shards: &[Shards]) -> Result<StoredDump, Failure> {
    let ranks = StoredDump::ranks(path);
    if ranks.is_empty() {
        return StoredDump::open(path).map_err(Failure::wrong_use);
    }
    if shards.is_empty() {
        return Err(Failure::wrong_use(format!(
            "{} has the dumps of {}; --shards joins what is spread over them, or give that of one rank: {}",
            path.display(),
            counted(ranks.len(), "rank"),
            ranks[0].1.display()
        )));
    }
    let dumps = ranks.iter().map(|(_, path)| StoredDump::open(path).map_err(Failure::wrong_use));
    Ok(StoredDump::joined(path, dumps.collect::<Result<_, _>>()?, shards))
}
