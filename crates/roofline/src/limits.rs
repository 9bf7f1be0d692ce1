use std::num::NonZeroUsize;
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// What a machine reaches: the limits of the roofline model (Williams, Waterman, Patterson 2009).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// The processor's name.
    pub processor: String,
    /// The number of threads that computed and read at the same time.
    pub threads: usize,
    /// Multiply-add peaks, by element type.
    pub peaks: Vec<ComputePeak>,
    /// Bandwidths, by the size of the data, smallest first.
    pub bandwidths: Vec<Bandwidth>,
}

/// The most operations in a second, for one element type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComputePeak {
    /// The element type, as in `float32`.
    pub dtype: String,
    /// 10^9 operations in a second, all threads together. A multiplication and an addition are two.
    pub gflops_per_s: f64,
}

impl ComputePeak {
    fn is_of(&self, dtype: &str) -> bool {
        self.dtype == if dtype == "uint8" { "int8" } else { dtype }
    }
}

/// How fast data of one size is read when it is read repeatedly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// The size of the data, in bytes, all threads together.
    pub bytes: u64,
    /// 10^9 bytes in a second, all threads together.
    pub gbytes_per_s: f64,
}

/// The limit that applies to an operator, and how close the operator comes to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// What limits it.
    pub limited_by: Limit,
    /// The least time that the machine needs for the operator in one run, in nanoseconds.
    pub least_ns: f64,
    /// That least time in percent of the measured time. It exceeds 100 if the operator computes less than its
    /// definition says, or if the machine reached less when it was measured.
    pub percent: f64,
}

/// What limits an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The multiply-add peak.
    Compute,
    /// The bandwidth for tensors of its size.
    Memory,
}

impl Limit {
    /// Returns its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Compute => "compute",
            Limit::Memory => "memory",
        }
    }
}

impl Roofline {
    /// Returns the peak for an element type, in 10^9 operations in a second; `None` if it was not measured. The peak
    /// for `int8` is also that for `uint8`, because each product multiplies one of either type.
    pub fn peak(&self, dtype: &str) -> Option<f64> {
        self.peaks.iter().find(|peak| peak.is_of(dtype)).map(|peak| peak.gflops_per_s)
    }

    /// Returns the peaks for these element types, each once.
    pub fn peaks_of<'d>(&self, dtypes: impl Iterator<Item = &'d str> + Clone) -> impl Iterator<Item = &ComputePeak> {
        self.peaks.iter().filter(move |peak| dtypes.clone().any(|dtype| peak.is_of(dtype)))
    }

    /// Returns the bandwidth for data of this size in bytes, in 10^9 bytes in a second: that of the largest measured
    /// size up to this one. So it is never too low for data that fits into a cache. Data smaller than the smallest
    /// measured size gets the bandwidth of that size.
    pub fn bandwidth(&self, bytes: f64) -> Option<f64> {
        let smaller = self.bandwidths.iter().take_while(|bandwidth| bandwidth.bytes as f64 <= bytes).last();
        smaller.or(self.bandwidths.first()).map(|bandwidth| bandwidth.gbytes_per_s)
    }

    /// Returns the limit that applies to some work. Returns `None` if the peak for its type is not known, or if it does
    /// no work.
    ///
    /// `flops` (operations) and `bytes` are the sums of `executions` executions, one after another, that together take
    /// `nanos`. Work that only moves data needs no type.
    pub fn bound(&self, dtype: Option<&str>, flops: f64, bytes: f64, executions: f64, nanos: f64) -> Option<Bound> {
        let computing = match flops > 0.0 {
            true => flops / self.peak(dtype?)?,
            false => 0.0,
        };
        let moving = bytes / self.bandwidth(bytes / executions.max(1.0))?;
        let least_ns = computing.max(moving);
        let limited_by = if computing >= moving { Limit::Compute } else { Limit::Memory };
        (least_ns > 0.0 && nanos > 0.0).then(|| Bound { limited_by, least_ns, percent: 100.0 * least_ns / nanos })
    }

    /// Raises every rate to that of another measurement of the same machine, if that one is higher.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (peak, other) in self.peaks.iter_mut().zip(&other.peaks) {
            peak.gflops_per_s = peak.gflops_per_s.max(other.gflops_per_s);
        }
        for (bandwidth, other) in self.bandwidths.iter_mut().zip(&other.bandwidths) {
            bandwidth.gbytes_per_s = bandwidth.gbytes_per_s.max(other.gbytes_per_s);
        }
    }

    /// Returns whether the numbers are possible for a machine with this many threads.
    pub(crate) fn is_plausible(&self, threads: NonZeroUsize) -> bool {
        let peaks = self.peaks.iter().map(|peak| peak.gflops_per_s);
        let mut rates = peaks.chain(self.bandwidths.iter().map(|bandwidth| bandwidth.gbytes_per_s));
        self.threads == threads.get()
            && !self.peaks.is_empty()
            && !self.bandwidths.is_empty()
            && self.bandwidths.is_sorted_by_key(|bandwidth| bandwidth.bytes)
            && rates.all(|rate| rate.is_finite() && rate > 0.0)
    }
}

/// Why a machine could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum RooflineError {
    /// A thread could not be started.
    #[error("thread {thread} of {threads} for the measurement cannot be started: {source}; measure fewer threads")]
    Thread {
        /// Which thread, from 1.
        thread: usize,
        /// How many threads were requested.
        threads: usize,
        /// The system's reason.
        source: io::Error,
    },
}

/// Returns the processor's name as the system gives it, or the processor family if it gives none.
pub fn processor_name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&text, "model name").unwrap_or(std::env::consts::ARCH).to_owned()
}

/// Returns everything that tells this processor from others. The name is not enough, because cloud machines give the
/// same name to many processors.
pub(crate) fn processor_identity() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields = ["vendor_id", "cpu family", "model", "stepping", "model name", "cache size", "flags"];
    let found = fields.map(|name| field(&text, name).unwrap_or("-"));
    let processors = text.lines().filter(|line| line.starts_with("processor")).count();
    format!("{}; {processors} processors", found.join("; "))
}

/// Returns whether the system lists a feature of the processor under this name.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_flag(name: &str) -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&text, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == name))
}

/// Returns a field of the first processor.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value =
        |line: &'t str| line.split_once(':').filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim());
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Roofline {
        Roofline {
            processor: "paper".to_owned(),
            threads: 1,
            peaks: vec![ComputePeak { dtype: "float32".to_owned(), gflops_per_s: 100.0 }],
            bandwidths: vec![
                Bandwidth { bytes: 1_000, gbytes_per_s: 50.0 },
                Bandwidth { bytes: 1_000_000, gbytes_per_s: 10.0 },
            ],
        }
    }

    #[test]
    fn the_slower_of_computing_and_moving_is_the_bound() {
        let bound = |flops, bytes, nanos| machine().bound(Some("float32"), flops, bytes, 1.0, nanos).unwrap();
        // 1e6 operations at 100 per nanosecond take 10 µs; 2000 bytes at 50 per nanosecond take 40 ns.
        let computing = bound(1e6, 2_000.0, 20_000.0);
        assert_eq!((computing.limited_by, computing.least_ns, computing.percent), (Limit::Compute, 10_000.0, 50.0));
        // 2 MB exceed the size for which 50 bytes per nanosecond were measured.
        let moving = bound(1e6, 2e6, 400_000.0);
        assert_eq!((moving.limited_by, moving.least_ns, moving.percent), (Limit::Memory, 200_000.0, 50.0));
        // In a thousand executions, the data of each fits.
        let often = machine().bound(Some("float32"), 1e6, 2e6, 1_000.0, 400_000.0).unwrap();
        assert_eq!((often.limited_by, often.least_ns), (Limit::Memory, 40_000.0));
    }

    #[test]
    fn bytes_have_one_peak_whatever_their_sign() {
        let peaks = vec![ComputePeak { dtype: "int8".to_owned(), gflops_per_s: 400.0 }];
        let machine = Roofline { peaks, ..machine() };
        assert_eq!(
            [machine.peak("int8"), machine.peak("uint8"), machine.peak("float32")],
            [Some(400.0), Some(400.0), None]
        );
    }

    #[test]
    fn of_two_measurements_each_higher_rate_counts() {
        let mut machine = machine();
        let mut other = machine.clone();
        (machine.peaks[0].gflops_per_s, other.bandwidths[1].gbytes_per_s) = (90.0, 12.0);
        machine.raise_to(&other);
        let rates =
            [machine.peaks[0].gflops_per_s, machine.bandwidths[0].gbytes_per_s, machine.bandwidths[1].gbytes_per_s];
        assert_eq!(rates, [100.0, 50.0, 12.0]);
    }

    #[test]
    fn without_a_peak_for_the_type_there_is_no_bound() {
        assert_eq!(machine().bound(Some("float16"), 1e6, 1e3, 1.0, 1e3), None);
        assert_eq!(machine().bound(None, 1e6, 1e3, 1.0, 1e3), None);
        assert_eq!(machine().bound(Some("float32"), 0.0, 0.0, 1.0, 1e3), None);
        // Work that only moves data needs no peak.
        let moved = machine().bound(None, 0.0, 1e3, 1.0, 100.0).unwrap();
        assert_eq!((moved.limited_by, moved.percent), (Limit::Memory, 20.0));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "processor\t: 0\nmodel name\t: A: B\nmodel\t\t: 2\n";
        assert_eq!(
            [field(text, "model"), field(text, "model name"), field(text, "step")],
            [Some("2"), Some("A: B"), None]
        );
    }
}
