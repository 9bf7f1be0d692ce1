use opscope_profile::Manifest;
use xxhash_rust::xxh3::Xxh3;

/// Returns the id of a recording: 32 hexadecimal digits. It depends on data that the manifest has from the beginning
/// and that no two recordings share: the host, the process, the beginning to the nanosecond, and the model. It does not
/// change when the directory is moved or the recording is closed.
pub fn recording_id(manifest: &Manifest) -> String {
    let mut hash = Xxh3::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(manifest.host.name.as_bytes());
    add(&manifest.process.pid.to_le_bytes());
    add(manifest.process.name.as_bytes());
    add(&manifest.clock.start_unix_ns.to_le_bytes());
    add(&manifest.clock.start.ticks.to_le_bytes());
    add(&manifest.clock.start.boottime_ns.to_le_bytes());
    add(manifest.model.path.as_bytes());
    add(manifest.model.xxh3.to_string().as_bytes());
    format!("{:032x}", hash.digest128())
}
