use std::num::NonZeroU64;
use std::time::Duration;

use opscope::profile::{Format, Profiler, ProfilerOptions, Recording, Switches};
use opscope::trace::Bytes;
use opscope_border::{Out, SizedIn, Text, exported, sized};

use crate::border::opscope_status_t::OPSCOPE_ERROR_INCOMPLETE;
use crate::border::{Failure, get, handle, insert, take};
use crate::session::opscope_session_t;

/// The instrument that makes a recording: what ran and when, in a directory. End it with `opscope_profiler_finish`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_profiler_t {
    /// 0 is no profiler.
    pub id: u64,
}
handle!(opscope_profiler_t => Profiler, "profiler");

/// What a profiler records. All fields zero, or NULL in place of the struct, selects the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_profiler_options_t<'a> {
    /// `sizeof(opscope_profiler_options_t)`.
    pub size: usize,
    /// Switches with their settings, separated by commas, such as "task-memory=on,sys-hardware-mem=off". They are those
    /// of `opscope benchmark`. NULL for the default.
    pub switches: Text<'a>,
    /// Nanoseconds between two samples of the counters. 0 stands for 100 ms.
    pub sample_interval: u64,
    /// Payload bytes that may wait in memory. 0 stands for 8 MiB.
    pub buffer_size: u64,
}
sized!(opscope_profiler_options_t<'a>, 32);

/// Creates the directory of a recording, which must not exist yet. Begins to record the runs of this session that have
/// the profiler as an instrument, and the program's marks. Until it is finished, the recording says that it is
/// incomplete.
#[exported]
pub fn opscope_profiler_create(
    session: opscope_session_t,
    directory: Text<'_>,
    options: SizedIn<'_, opscope_profiler_options_t<'_>>,
    profiler: Out<'_, opscope_profiler_t>,
) -> Result<(), Failure> {
    let (loaded, profiler) = (get(session)?, profiler.place("profiler")?);
    let (directory, options) = (directory.path("directory")?, profiler_options(options)?);
    let created = Profiler::create(&directory, &loaded.session.recording_info(1), &options)?;
    profiler.write(insert(created));
    Ok(())
}

/// Writes what is still in memory, and closes the recording. Returns `OPSCOPE_ERROR_INCOMPLETE` if something is
/// missing, which the recording's manifest names, and `OPSCOPE_ERROR_BUSY` while another call uses the profiler. Except
/// in the latter case, the profiler is freed.
#[exported]
pub fn opscope_profiler_finish(profiler: opscope_profiler_t) -> Result<(), Failure> {
    let manifest = take(profiler)?.finish()?;
    if manifest.complete {
        return Ok(());
    }
    Err(Failure::new(OPSCOPE_ERROR_INCOMPLETE, manifest.incomplete_because.join("; ")))
}

/// Writes the files of a format, "perfetto", "chrome" or "csv", into the directory of a recording. Existing files stay
/// unchanged.
#[exported]
pub fn opscope_recording_export(directory: Text<'_>, format: Text<'_>) -> Result<(), Failure> {
    let (directory, name) = (directory.path("directory")?, format.given_str("format")?);
    let name = name.unwrap_or_default();
    let format = Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
        let names = Format::ALL.map(Format::name);
        let [others @ .., last] = &names;
        Failure::argument(format!("'{name}' is not a format of recordings; it is {} or {last}", others.join(", ")))
    })?;
    Recording::open(&directory)?.export(format, &directory)?;
    Ok(())
}

fn profiler_options(options: SizedIn<'_, opscope_profiler_options_t<'_>>) -> Result<ProfilerOptions, Failure> {
    let given = options.get_or_default()?;
    let settings = given.switches.given_str("switches")?;
    let mut switches = Switches::default();
    for setting in settings.unwrap_or_default().split(',').filter(|setting| !setting.is_empty()) {
        switches.apply(setting)?;
    }
    let default = ProfilerOptions::default();
    Ok(ProfilerOptions {
        switches,
        sample_interval: NonZeroU64::new(given.sample_interval)
            .map_or(default.sample_interval, |nanoseconds| Duration::from_nanos(nanoseconds.get())),
        buffer_size: NonZeroU64::new(given.buffer_size).map_or(default.buffer_size, |bytes| Bytes::new(bytes.get())),
        watermark: match given.buffer_size {
            0 => default.watermark,
            bytes => Bytes::new(default.watermark.get().min(bytes / 8)),
        },
        ..default
    })
}
