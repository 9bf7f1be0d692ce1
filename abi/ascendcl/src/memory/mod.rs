//! Memory of the device and of the host: here both are the machine's.

mod allocate;
mod copy;
mod registry;
mod rows;
mod size;
mod total;

#[expect(unused_imports, reason = "models use them")]
pub use registry::{Place, allocate, free, free_device, room_at};
pub use total::device_memory;
