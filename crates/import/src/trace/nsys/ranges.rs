//! NVTX ranges and marks.

use foldhash::HashMap;

use super::Export;
use super::ids::{Ids, process_of};
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, What};
use crate::trace::sqlite::Columns;

/// The types of NVTX events, as Nsight Systems numbers them.
const MARK: i64 = 34;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
const DOMAIN: i64 = 75;
/// Names of categories and threads, and the end of a domain, are no events of the program.
const NAMES: [i64; 3] = [33, 39, 76];

/// The names of domains, by process and number.
type Domains = HashMap<(u64, i64), String>;

const TABLE: &str = "NVTX_EVENTS";

impl Export<'_> {
    pub(super) fn ranges(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let domains = self.domains(into)?;
        self.read.push(TABLE);
        let needed = &["start", "eventType"];
        let optional = &["end", "text", "textId", "globalTid", "domainId"];
        let (ids, last) = (&mut self.ids, self.last);
        let mut open = 0_u64;
        self.database.rows(&Columns { table: TABLE, needed, optional }, into, |row, into| {
            let Some(kind) = row.int(1) else {
                into.not_imported("NVTX event without a type", TABLE);
                return Ok(());
            };
            if kind == DOMAIN || NAMES.contains(&kind) {
                return Ok(());
            }
            let Some(start) = row.int(0).and_then(|start| u64::try_from(start).ok()) else {
                into.not_imported("NVTX event without a begin", TABLE);
                return Ok(());
            };
            let end = match (row.int(2), kind) {
                (_, MARK) => start,
                (Some(end), PUSH_POP | START_END) => u64::try_from(end).unwrap_or(0),
                (None, PUSH_POP | START_END) => {
                    open += 1;
                    last.max(start)
                }
                _ => {
                    into.not_imported("NVTX event of an unknown type", &kind.to_string());
                    return Ok(());
                }
            };
            let Some(duration) = end.checked_sub(start) else {
                into.not_imported("NVTX range that ends before it begins", TABLE);
                return Ok(());
            };
            let (global, domain) = (row.int(5), row.int(6).unwrap_or(0));
            let text = row.text(3).map(|text| text.into_owned()).or_else(|| ids.text(row.int(4)));
            let text = text.unwrap_or_else(|| "range without a name".to_owned());
            // The default domain has no name. Others tell whose a range is: `NCCL: ncclAllReduce`.
            let name = match domains.get(&(process_of(global.unwrap_or(0) as u64), domain)) {
                Some(domain) => format!("{domain}: {text}"),
                None => text,
            };
            let track = Ids::thread(into, global);
            into.add(&Event {
                what: if kind == MARK { What::Mark } else { What::Range },
                name: &name,
                track,
                start,
                duration,
                correlation: 0,
                external: 0,
                op: "",
                inputs: "",
            })
        })?;
        if open > 0 {
            into.about.notes.push(format!("{open} NVTX ranges were open when the recording ended; they end there."));
        }
        Ok(())
    }

    /// Returns the names of the domains.
    fn domains(&mut self, into: &mut Assembler) -> Result<Domains, ImportError> {
        let mut domains = Domains::default();
        let optional = &["text", "textId", "globalTid", "domainId"];
        let ids = &mut self.ids;
        self.database.rows(&Columns { table: TABLE, needed: &["start", "eventType"], optional }, into, |row, _| {
            if row.int(1) == Some(DOMAIN)
                && let Some(name) = row.text(2).map(|text| text.into_owned()).or_else(|| ids.text(row.int(3)))
            {
                domains.insert((process_of(row.int(4).unwrap_or(0) as u64), row.int(5).unwrap_or(0)), name);
            }
            Ok(())
        })?;
        Ok(domains)
    }
}
