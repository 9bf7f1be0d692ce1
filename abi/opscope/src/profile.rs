use std::ffi::c_char;
use std::num::NonZeroU64;
use std::time::Duration;

use opscope::profile::{Format, Profiler, ProfilerOptions, Recording, Switches};
use opscope::trace::Bytes;

use crate::border::opscope_status_t::{self, OPSCOPE_ERROR_INCOMPLETE};
use crate::border::{
    Failure, call, get, handle, insert, out, read_optional_text, read_or_default, read_path, sized, take,
};
use crate::session::opscope_session_t;

/// The instrument that leaves a recording: what ran and when, in a directory. End it with `opscope_profiler_finish`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_profiler_t {
    /// 0 is no profiler.
    pub id: u64,
}
handle!(opscope_profiler_t => Profiler, "profiler");

/// What a profiler records. All zero is the default, and so is NULL in its place.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_profiler_options_t {
    /// `sizeof(opscope_profiler_options_t)`.
    pub size: usize,
    /// Switches with their settings, separated by commas, such as "task-memory=on,sys-hardware-mem=off": those of
    /// `opscope benchmark`. NULL for the default.
    pub switches: *const c_char,
    /// Nanoseconds between two samples of the counters. 0 stands for 100 ms.
    pub sample_interval: u64,
    /// Payload bytes that may wait in memory. 0 stands for 8 MiB.
    pub buffer_size: u64,
}
sized!(opscope_profiler_options_t, 32);

/// Creates the directory of a recording, which must not exist, and begins to record the runs of this session that it is an
/// instrument of, and what the program marks. Until it is finished the recording says that it is incomplete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_profiler_create(
    session: opscope_session_t,
    directory: *const c_char,
    options: *const opscope_profiler_options_t,
    profiler: *mut opscope_profiler_t,
) -> opscope_status_t {
    call(|| {
        let (loaded, profiler) = (get(session)?, out(profiler, "profiler")?);
        // SAFETY: as the caller promises.
        let (directory, options) = unsafe { (read_path(directory, "directory")?, profiler_options(options)?) };
        let created = Profiler::create(&directory, &loaded.session.recording_info(1), &options)?;
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { profiler.write(insert(created)) };
        Ok(())
    })
}

/// Writes what is still in memory and closes the recording. Returns `OPSCOPE_ERROR_INCOMPLETE` if something is missing, which the
/// recording's manifest names, and `OPSCOPE_ERROR_BUSY` while another call uses the profiler. But for the latter, the profiler is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_profiler_finish(profiler: opscope_profiler_t) -> opscope_status_t {
    call(|| {
        let manifest = take(profiler)?.finish()?;
        if manifest.complete {
            return Ok(());
        }
        Err(Failure::new(OPSCOPE_ERROR_INCOMPLETE, manifest.incomplete_because.join("; ")))
    })
}

/// Writes the files of a format, "perfetto", "chrome" or "csv", into the directory of a recording. Files that are there
/// already stay as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_recording_export(directory: *const c_char, format: *const c_char) -> opscope_status_t {
    call(|| {
        // SAFETY: as the caller promises.
        let (directory, name) = unsafe { (read_path(directory, "directory")?, read_optional_text(format, "format")?) };
        let name = name.unwrap_or_default();
        let format = Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            Failure::argument(format!("'{name}' is no format of recordings; it is perfetto, chrome or csv"))
        })?;
        Recording::open(&directory)?.export(format, &directory)?;
        Ok(())
    })
}

unsafe fn profiler_options(options: *const opscope_profiler_options_t) -> Result<ProfilerOptions, Failure> {
    // SAFETY: as the caller promises.
    let given = unsafe { read_or_default(options)? };
    // SAFETY: as the caller promises.
    let settings = unsafe { read_optional_text(given.switches, "switches")? };
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
