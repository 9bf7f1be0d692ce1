//! Imports one trace: finds its format, reads it, and writes the recording.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::UNIX_EPOCH;

use flate2::read::MultiGzDecoder;
use opscope_files::open_regular;
use opscope_profile::{NotImported, ProfileError};
use opscope_tensor::Digest;
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

use super::assemble::{Assembled, Assembler, Source, Steps};
use super::format::Format;
use super::json::{self, JsonTrace};
use super::{nsys, perfetto, rocpd, rocprof_csv};
use crate::ImportError;

/// How a trace is imported.
#[derive(Clone, Default)]
pub struct TraceOptions {
    /// Which ranges are runs.
    pub steps: Steps,
    /// Ends the import with [`ImportError::Cancelled`] once it is true.
    pub cancel: Arc<AtomicBool>,
    /// Is called from time to time with the bytes of the file that were read, and their total.
    pub progress: Option<Arc<dyn Fn(u64, u64) + Send + Sync>>,
}

/// What became of a trace.
#[derive(Debug, Clone)]
pub struct ImportedTrace {
    /// The recording's directory.
    pub directory: PathBuf,
    /// The format, such as `Kineto`.
    pub format: String,
    /// The number of events in the trace, and of those that are in the recording.
    pub events: u64,
    /// The number of events that are in the recording.
    pub imported: u64,
    /// The others, by kind and name.
    pub not_imported: Vec<NotImported>,
    /// The devices and their kernels.
    pub devices: Vec<TracedDevice>,
    /// The number of operators that launched work on devices; without devices, of all.
    pub operators: usize,
    /// The number of modules and ranges that these are in.
    pub modules: usize,
    /// The number of runs.
    pub runs: usize,
    /// What is damaged or missing, a sentence each. Empty for a whole trace.
    pub damage: Vec<String>,
    /// What else a reader should know, a sentence each.
    pub notes: Vec<String>,
}

/// The kernels of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedDevice {
    /// Its name, such as `cuda:0`.
    pub name: String,
    /// The number of its kernels.
    pub kernels: u64,
    /// Those whose launch is in the trace.
    pub launched: u64,
    /// Those that are tied to an operator, a module or a range.
    pub tied: u64,
}

/// Imports a trace into a new directory, which becomes a recording. While that happens, sorted parts of the trace lie
/// beside it, without a name.
///
/// # Errors
/// Returns an error if the file cannot be read or is no trace, or if the recording cannot be written. The damage of a
/// trace is no error.
pub fn import_trace(path: &Path, directory: &Path, options: &TraceOptions) -> Result<ImportedTrace, ImportError> {
    let file = open_regular(path).map_err(ImportError::io("read", path))?;
    let metadata = file.metadata().map_err(ImportError::io("read", path))?;
    if directory.exists() {
        return Err(ProfileError::Exists(directory.to_owned()).into());
    }
    let scratch = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(scratch).map_err(ImportError::io("create", scratch))?;
    let format = Format::of(path)?;
    let mut assembler = Assembler::new(scratch, Arc::clone(&options.cancel));
    assembler.set_steps(options.steps.clone());
    let (trace, digest) = read(path, file, format, options, &mut assembler)?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let zero_unix_ns = modified.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0));
    let source = Source { path, digest, format: trace.format, device_kind: trace.device_kind, zero_unix_ns };
    let partial = partial_of(directory);
    let assembled = assembler.finish(&source, &partial)?;
    fs::rename(&partial, directory).map_err(ImportError::io("rename", &partial))?;
    Ok(ImportedTrace::of(assembled, directory))
}

/// Reads a trace. Returns what it turned out to be, and the digest of the file.
fn read(
    path: &Path,
    file: File,
    format: Format,
    options: &TraceOptions,
    into: &mut Assembler,
) -> Result<(JsonTrace, Digest), ImportError> {
    let length = file.metadata().map_err(ImportError::io("read", path))?.len();
    let counted = Counted { file, hash: Xxh3::new(), read: 0, length, progress: options.progress.clone() };
    let mut reader = BufReader::with_capacity(1 << 20, counted);
    let kind = |format, device_kind| JsonTrace { format, device_kind };
    let trace = match format {
        Format::Json { is_gzip: true } => json::read(path, MultiGzDecoder::new(&mut reader), into)?,
        Format::Json { is_gzip: false } => json::read(path, &mut reader, into)?,
        Format::Nsys => nsys::read(path, into).map(|()| kind("Nsight Systems", "cuda"))?,
        Format::Rocpd => rocpd::read(path, into).map(|()| kind("rocpd", "hip"))?,
        Format::RocprofCsv => rocprof_csv::read(path, into).map(|()| kind("rocprofv3's CSV", "hip"))?,
        Format::Perfetto => perfetto::read(path, into).map(|()| kind("Perfetto", "device"))?,
    };
    // What no reader took counts for the digest, too.
    io::copy(&mut reader, &mut io::sink()).map_err(ImportError::io("read", path))?;
    Ok((trace, Digest(reader.get_ref().hash.digest())))
}

/// Returns what the directory is called until the recording is whole, so that one of a killed process is recognised.
fn partial_of(directory: &Path) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

impl ImportedTrace {
    /// Returns what became of the trace as an entry of `traces` in `opscope.import/1`. `source` is the trace.
    pub fn json(&self, source: &Path) -> Value {
        let devices = self.devices.iter().map(|device| {
            json!({ "device": device.name, "kernels": device.kernels, "launched": device.launched, "tied": device.tied })
        });
        json!({
            "source": source.to_string_lossy(),
            "recording": self.directory.to_string_lossy(),
            "format": self.format,
            "events": self.events,
            "imported": self.imported,
            "not_imported": self.not_imported,
            "devices": devices.collect::<Vec<_>>(),
            "operators": self.operators,
            "modules": self.modules,
            "runs": self.runs,
            "complete": self.damage.is_empty(),
            "incomplete_because": self.damage,
            "notes": self.notes,
        })
    }

    fn of(assembled: Assembled, directory: &Path) -> Self {
        let Assembled { manifest, devices, operators, modules, runs } = assembled;
        let (damage, notes) = (manifest.incomplete_because, manifest.notes);
        let from = manifest.imported.unwrap_or_default();
        let device = |device: super::assemble::Devices| TracedDevice {
            name: device.name,
            kernels: device.kernels,
            launched: device.launched,
            tied: device.tied,
        };
        Self {
            directory: directory.to_owned(),
            format: from.format,
            events: from.events,
            imported: from.imported,
            not_imported: from.not_imported,
            devices: devices.into_iter().map(device).collect(),
            operators,
            modules,
            runs,
            damage,
            notes,
        }
    }
}

/// Reads a file, and counts and digests its bytes.
struct Counted {
    file: File,
    hash: Xxh3,
    read: u64,
    length: u64,
    progress: Option<Arc<dyn Fn(u64, u64) + Send + Sync>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.hash.update(&into[..count]);
        self.read += count as u64;
        if let Some(progress) = &self.progress {
            progress(self.read, self.length);
        }
        Ok(count)
    }
}
