//! From the events that were taken to the recording.

use std::path::Path;

use opscope_model::Fidelity;
use opscope_profile::{
    DeviceInfo, EngineInfo, HostInfo, ImportedFrom, Manifest, ModelInfo, NotImported, ProcessInfo, RecordingBuilder,
};
use opscope_tensor::Digest;

use super::devices::{DeviceWalk, Tied};
use super::host::HostWalk;
use super::intake::Assembler;
use super::kernels::Kernels;
use super::names::NameNumber;
use super::rows::{RecordRow, SampleRow};
use super::runs::{Run, Runs};
use super::scopes::Scopes;
use super::sorter::Sorter;
use super::threads::{Threads, device_name};
use super::written::{Parts, Written};
use crate::ImportError;
use crate::trace::event::Track;

/// What an assembler made of a trace.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub manifest: Manifest,
    pub devices: Vec<Devices>,
    /// How many operators and modules launched work on devices; without devices, how many there are.
    pub operators: usize,
    pub modules: usize,
    pub runs: usize,
}

/// The kernels of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Devices {
    pub name: String,
    pub kernels: u64,
    pub launched: u64,
    pub tied: u64,
}

/// Where a trace came from.
pub(crate) struct Source<'a> {
    /// The file or directory.
    pub path: &'a Path,
    pub digest: Digest,
    /// The format's name, such as `Kineto`.
    pub format: &'a str,
    /// What the devices of the trace are called: `cuda`.
    pub device_kind: &'a str,
    /// What the trace's zero is where the trace does not say it, in nanoseconds since 1970.
    pub zero_unix_ns: u64,
}

impl Assembler {
    /// Writes the recording into a new directory.
    pub fn finish(mut self, source: &Source<'_>, directory: &Path) -> Result<Assembled, ImportError> {
        let scratch = self.scratch.clone();
        let on_disk = || ImportError::io("sort in", &scratch);
        let (first, last) = self.extent.unwrap_or_default();
        let ranges = std::mem::take(&mut self.ranges);
        let has_steps = !ranges.is_empty();
        let whole = Run { start: first, end: last.saturating_add(1), track: Track(0) };
        let runs = Runs::new(match () {
            () if has_steps => ranges,
            // Without a thread nothing ran.
            () if self.tracks.all().next().is_none() => Vec::new(),
            () => vec![(0, whole)],
        });
        let has_devices = !self.devices.is_empty();
        let (mut scopes, mut kernels) = (Scopes::default(), Kernels::default());
        let mut records = Sorter::<RecordRow>::new(&scratch);
        let mut walk =
            HostWalk::new((&mut scopes, &mut kernels), &mut records, (&self.tracks, &runs), has_devices, &scratch);
        let host = std::mem::replace(&mut self.host, Sorter::new(&scratch));
        for row in host.sorted().map_err(on_disk())? {
            let row = row.map_err(on_disk())?;
            if self.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(ImportError::Cancelled);
            }
            let is_step = has_steps && self.steps.is_step(NameNumber(row.name), &self.names);
            walk.event(&row, is_step).map_err(on_disk())?;
        }
        let by_correlation = walk.by_correlation.sorted().map_err(on_disk())?;
        let by_external = walk.by_external.sorted().map_err(on_disk())?;
        let mut devices = DeviceWalk::new(&scopes, &mut kernels, &mut records, &self.tracks, &runs);
        let device = std::mem::replace(&mut self.device, Sorter::new(&scratch));
        let work = device.sorted().map_err(on_disk())?;
        devices.join(work, by_correlation, by_external, &scratch).map_err(on_disk())?;
        let DeviceWalk { tied, operators, modules, .. } = devices;
        let counts = match has_devices {
            true => (operators.len(), modules.len()),
            false => scopes.counts(),
        };
        let devices = self.device_infos(source, &tied);
        let manifest = self.manifest(source, first, &devices);
        let threads = Threads::new(&self.tracks, source.device_kind);
        let samples = std::mem::replace(&mut self.samples, Sorter::new(&scratch));
        let parts = Parts { names: &self.names, scopes: &scopes, kernels: &kernels, runs: &runs, threads: &threads };
        let mut written = Written::begin(directory, manifest.clone(), parts, first)?;
        let outcome = self.write_rows(&mut written, records, samples);
        if let Err(error) = outcome {
            RecordingBuilder::remove(directory);
            return Err(error);
        }
        let manifest = written.finish(manifest)?;
        let devices = tied
            .iter()
            .map(|(device, tied)| Devices {
                name: device_name(source.device_kind, *device),
                kernels: tied.kernels,
                launched: tied.launched,
                tied: tied.tied,
            })
            .collect();
        Ok(Assembled { manifest, devices, operators: counts.0, modules: counts.1, runs: runs.all.len() })
    }

    fn write_rows(
        &self,
        written: &mut Written<'_>,
        records: Sorter<RecordRow>,
        samples: Sorter<SampleRow>,
    ) -> Result<(), ImportError> {
        let on_disk = || ImportError::io("sort in", &self.scratch);
        for row in records.sorted().map_err(on_disk())? {
            self.check_cancel()?;
            written.record(&row.map_err(on_disk())?)?;
        }
        let counters = self.counters.iter().map(|(key, number)| (*number, *key));
        written.samples(counters, samples.sorted().map_err(on_disk())?, &self.scratch)
    }

    fn device_infos(&self, source: &Source<'_>, tied: &std::collections::BTreeMap<u32, Tied>) -> Vec<DeviceInfo> {
        let all: std::collections::BTreeSet<u32> = self.devices.keys().chain(tied.keys()).copied().collect();
        let info = |device: u32| DeviceInfo {
            device: device.saturating_add(1),
            name: device_name(source.device_kind, device),
            model: self.tracks.devices().get(&device).cloned().unwrap_or_default(),
        };
        all.into_iter().map(info).collect()
    }

    fn manifest(&self, source: &Source<'_>, first: u64, devices: &[DeviceInfo]) -> Manifest {
        let about = &self.about;
        let left_out: u64 = self.not_imported.values().sum();
        let not_imported =
            self.all_not_imported().into_iter().map(|((kind, name), count)| NotImported { kind, name, count });
        let imported = ImportedFrom {
            format: source.format.to_owned(),
            events: self.imported + left_out,
            imported: self.imported,
            not_imported: not_imported.collect(),
            devices: devices.to_vec(),
            rank: about.rank,
        };
        let model = ModelInfo {
            path: source.path.display().to_string(),
            xxh3: source.digest,
            graph: String::new(),
            producer: about.producer.clone(),
        };
        let version = if about.version.is_empty() { "of unknown version" } else { &about.version };
        let engine = EngineInfo::new(about.producer.clone(), version, Fidelity::Optimised);
        let host = HostInfo { name: about.host.clone(), cpu: about.cpu.clone(), processors: 0, system: String::new() };
        let process = ProcessInfo {
            pid: about.process,
            name: about.program.clone(),
            opscope: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let zero = about.zero_unix_ns.unwrap_or(source.zero_unix_ns).saturating_add(first);
        let mut manifest = Manifest::of_trace(model, engine, host, process, zero, imported);
        manifest.incomplete_because.clone_from(&self.damage);
        manifest.notes.clone_from(&about.notes);
        manifest
    }
}
