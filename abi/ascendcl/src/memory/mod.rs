//! Memory of the device and of the host. Both are this machine's memory.

mod allocate;
#[allow(unsafe_code, reason = "it copies between memory that the program names")]
mod copy;
#[allow(unsafe_code, reason = "memory that programs allocate and free")]
mod registry;
#[allow(unsafe_code, reason = "it copies between memory that the program names")]
mod rows;
mod size;
mod total;

pub use allocate::allocate_for_program;
pub use registry::{Range, free_device, room_at, with};
pub use total::device_memory;
