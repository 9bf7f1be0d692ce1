use std::fs;
use std::time::Instant;

use crate::Switches;

/// A quantity that can be read from `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Memory in use, in bytes: `MemTotal` minus `MemAvailable`.
    MemoryUsed,
    /// Memory in use for files, in bytes: `Cached` plus `Buffers`.
    MemoryCached,
    /// How busy one processor is.
    Processor(usize),
    /// How busy all processors together are.
    Machine,
    /// Processes that can run at this moment.
    Runnable,
    /// Processor time of this process: 100 % is one processor.
    ProcessTime,
    /// Resident memory of this process, in bytes.
    ProcessMemory,
    /// Page faults of this process since the last sample, both minor and major.
    ProcessFaults,
    /// Threads of this process.
    ProcessThreads,
}

/// The last two readings of all quantities.
pub(super) struct Counters {
    switches: Switches,
    processors: usize,
    ticks_per_second: f64,
    last: State,
    now: State,
}

#[derive(Debug, Clone, Default)]
struct State {
    at: Option<Instant>,
    memory: Option<Memory>,
    /// The times of the whole machine, and then of each processor.
    times: Vec<ProcessorTimes>,
    runnable: Option<u64>,
    process: Option<Process>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Memory {
    used: u64,
    cached: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessorTimes {
    busy: u64,
    all: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    time: u64,
    faults: u64,
    threads: u64,
    resident: u64,
}

impl Reading {
    pub(super) fn title(self) -> String {
        match self {
            Self::MemoryUsed => "memory used".to_owned(),
            Self::MemoryCached => "memory for files".to_owned(),
            Self::Processor(index) => format!("processor {index}"),
            Self::Machine => "all processors".to_owned(),
            Self::Runnable => "runnable tasks".to_owned(),
            Self::ProcessTime => "process: processor time".to_owned(),
            Self::ProcessMemory => "process: memory".to_owned(),
            Self::ProcessFaults => "process: page faults".to_owned(),
            Self::ProcessThreads => "process: threads".to_owned(),
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::MemoryUsed | Self::MemoryCached | Self::ProcessMemory => "bytes",
            Self::Processor(_) | Self::Machine | Self::ProcessTime => "%",
            Self::Runnable | Self::ProcessFaults | Self::ProcessThreads => "count",
        }
    }
}

impl Counters {
    pub(super) fn new(switches: Switches) -> Self {
        let mut counters = Self {
            switches,
            processors: 0,
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
            last: State::default(),
            now: State::default(),
        };
        counters.read();
        counters.processors = counters.now.times.len().saturating_sub(1);
        counters
    }

    /// Returns the quantities that are switched on.
    pub(super) fn readings(&self) -> Vec<Reading> {
        let mut readings = Vec::new();
        if self.switches.machine_memory {
            readings.extend([Reading::MemoryUsed, Reading::MemoryCached]);
        }
        if self.switches.processors {
            readings.extend((0..self.processors).map(Reading::Processor));
        }
        if self.switches.machine {
            readings.extend([Reading::Machine, Reading::Runnable]);
        }
        if self.switches.process {
            readings.extend([
                Reading::ProcessTime,
                Reading::ProcessMemory,
                Reading::ProcessFaults,
                Reading::ProcessThreads,
            ]);
        }
        readings
    }

    /// Reads all quantities that are switched on.
    pub(super) fn read(&mut self) {
        let file =
            |wanted: bool, path| if wanted { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let switches = self.switches;
        let stat = file(switches.processors || switches.machine, "/proc/stat");
        let now = State {
            at: Some(Instant::now()),
            memory: memory(&file(switches.machine_memory, "/proc/meminfo")),
            times: processor_times(&stat),
            runnable: runnable(&stat),
            process: process(&file(switches.process, "/proc/self/stat")),
        };
        self.last = std::mem::replace(&mut self.now, now);
    }

    /// Returns the value of the last reading; `None` if it needs two readings, or the system does not provide it.
    pub(super) fn value(&self, reading: Reading) -> Option<f64> {
        let (last, now) = (&self.last, &self.now);
        match reading {
            Reading::MemoryUsed => now.memory.map(|memory| memory.used as f64),
            Reading::MemoryCached => now.memory.map(|memory| memory.cached as f64),
            Reading::Machine => busy(last.times.first()?, now.times.first()?),
            Reading::Processor(index) => busy(last.times.get(index + 1)?, now.times.get(index + 1)?),
            Reading::Runnable => now.runnable.map(|count| count as f64),
            Reading::ProcessTime => {
                let seconds = now.at?.duration_since(last.at?).as_secs_f64();
                let ticks = now.process?.time.saturating_sub(last.process?.time) as f64;
                (seconds > 0.0).then(|| 100.0 * ticks / self.ticks_per_second / seconds)
            }
            Reading::ProcessMemory => now.process.map(|process| process.resident as f64),
            Reading::ProcessFaults => Some(now.process?.faults.saturating_sub(last.process?.faults) as f64),
            Reading::ProcessThreads => now.process.map(|process| process.threads as f64),
        }
    }
}

fn busy(last: &ProcessorTimes, now: &ProcessorTimes) -> Option<f64> {
    let all = now.all.saturating_sub(last.all);
    (all > 0).then(|| 100.0 * now.busy.saturating_sub(last.busy) as f64 / all as f64)
}

fn memory(meminfo: &str) -> Option<Memory> {
    let kilobytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let used = kilobytes("MemTotal")?.saturating_sub(kilobytes("MemAvailable")?);
    Some(Memory { used: used << 10, cached: (kilobytes("Cached")? + kilobytes("Buffers")?) << 10 })
}

/// Parses the lines of `/proc/stat` (proc_stat(5)). The fields are user, nice, system, idle, iowait, irq, softirq,
/// steal, and the two guest times, which are already included in user and nice.
fn processor_times(stat: &str) -> Vec<ProcessorTimes> {
    let lines = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    lines
        .map(|line| {
            let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
            // The first field of a single processor's line is its number.
            let fields = if line.starts_with(' ') { &fields[..] } else { fields.get(1..).unwrap_or_default() };
            let all: u64 = fields.iter().take(8).sum();
            let idle: u64 = fields.iter().skip(3).take(2).sum();
            ProcessorTimes { busy: all - idle, all }
        })
        .collect()
}

fn runnable(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}

/// Parses `/proc/self/stat` (proc_pid_stat(5)). Fields are counted from the state, which follows the name in
/// parentheses.
fn process(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        faults: field(10)? + field(12)?,
        time: field(14)? + field(15)?,
        threads: field(20)?,
        resident: field(24)? * rustix::param::page_size() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times_leave_idle_and_waiting_out_of_busy() {
        let stat = "cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 10 0 10 70 10 0 0 0 5 0\nintr 1\nprocs_running 3\n";
        let expected = ProcessorTimes { busy: 20, all: 100 };
        assert_eq!(processor_times(stat), [expected, expected]);
        assert_eq!(runnable(stat), Some(3));
        let later = ProcessorTimes { busy: 70, all: 200 };
        assert_eq!(busy(&expected, &later), Some(50.0));
        assert_eq!(busy(&expected, &expected), None);
    }

    #[test]
    fn a_process_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) R 1 2 3 4 5 6 100 8 20 10 300 40 13 14 15 16 9 18 19 20 21 22";
        let found = process(stat).expect("all fields are there");
        assert_eq!((found.faults, found.time, found.threads), (120, 340, 9));
        assert_eq!(found.resident, 21 * rustix::param::page_size() as u64);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable: 60 kB\nBuffers: 1 kB\nCached: 2 kB\n";
        assert_eq!(memory(text), Some(Memory { used: 40 << 10, cached: 3 << 10 }));
        assert_eq!(memory("MemTotal: 100 kB\n"), None);
    }

    #[test]
    fn everything_that_can_be_switched_on_can_be_read_here() {
        let all = Switches {
            runs: false,
            dispatches: false,
            tensor_memory: false,
            calls: false,
            machine_memory: true,
            processors: true,
            machine: true,
            process: true,
        };
        let counters = Counters::new(all);
        let levels = counters.readings().into_iter().filter(|reading| reading.unit() == "bytes");
        for reading in levels {
            assert!(counters.value(reading).is_some_and(|value| value > 0.0), "{reading:?}");
        }
        assert!(counters.readings().contains(&Reading::Processor(0)));
    }
}
