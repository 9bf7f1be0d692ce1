//! Memory of the device and of the host: here both are the machine's.

mod allocate;
mod copy;
mod registry;
mod rows;
mod size;
mod total;

pub use allocate::allocate_for_program;
pub use registry::{Range, free_device, room_at, with};
pub use total::device_memory;
