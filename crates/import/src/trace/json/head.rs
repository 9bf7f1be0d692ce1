//! What stands beside the events of a trace: who wrote it, and when its times begin.

use serde::Deserialize;
use serde_json::Value;

use crate::trace::assemble::Assembler;

/// Takes a member of the outermost object.
pub(super) fn member(key: &str, bytes: &[u8], into: &mut Assembler) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    match key {
        "baseTimeNanoseconds" => into.about.zero_unix_ns = value.as_u64(),
        "deviceProperties" => devices(&value, into),
        "distributedInfo" => {
            into.about.rank = value.get("rank").and_then(Value::as_u64).and_then(|rank| u32::try_from(rank).ok());
        }
        "host_name" | "hostname" => value.as_str().unwrap_or_default().clone_into(&mut into.about.host),
        _ => {}
    }
}

/// Returns whether only Kineto writes a member of this name.
pub(super) fn is_kineto(key: &str) -> bool {
    matches!(key, "schemaVersion" | "deviceProperties" | "baseTimeNanoseconds" | "distributedInfo")
}

fn devices(value: &Value, into: &mut Assembler) {
    #[derive(Deserialize)]
    struct Device {
        id: u32,
        name: String,
    }
    for device in value.as_array().into_iter().flatten() {
        if let Ok(Device { id, name }) = Device::deserialize(device) {
            into.name_device(id, &name);
        }
    }
}
