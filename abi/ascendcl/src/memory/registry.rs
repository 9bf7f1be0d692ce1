//! The registry of all allocations: it finds the allocation of an address, and lets only allocated memory be freed.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::c_void;

use super::device_memory;
use crate::border::{Failure, codes};
use crate::forks::Shared;

/// The alignment of every allocation; programs rely on it.
const ALIGNMENT: usize = 64;

/// Where the memory is, in the program's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Device,
    Host,
}

struct Allocation {
    layout: Layout,
    location: Location,
}

/// The child of a fork has copies of all allocations.
static ALLOCATIONS: Shared<Allocations> = Shared::new(Allocations::new(), || ALLOCATIONS.held(|_| {}));

struct Allocations {
    /// The allocations, by address.
    known: BTreeMap<usize, Allocation>,
    /// How many bytes of the device are allocated.
    on_device: usize,
}

impl Allocations {
    const fn new() -> Self {
        Self { known: BTreeMap::new(), on_device: 0 }
    }

    /// Returns the bytes from an address to the end of its allocation.
    fn room_at(&self, address: usize) -> Option<usize> {
        let (start, allocation) = self.known.range(..=address).next_back()?;
        (start + allocation.layout.size()).checked_sub(address).filter(|room| *room > 0)
    }

    /// Frees the allocation that begins at an address.
    fn take(&mut self, start: usize) {
        let Some(Allocation { layout, location }) = self.known.remove(&start) else { return };
        if location == Location::Device {
            self.on_device -= layout.size();
        }
        // SAFETY: it was allocated with this layout, and it has just left the registry, so it is freed only once.
        unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(start), layout) };
    }

    /// Checks that a range that begins in an allocation also ends in it. The program is responsible for other memory.
    fn check(&self, range: &Range) -> Result<(), Failure> {
        match self.room_at(range.start) {
            Some(room) if room < range.size => {
                let reason = format!("the allocation has only {room} bytes from there");
                Err(Failure::wrong_value_of(
                    codes::RT_PARAM_INVALID,
                    range.name,
                    format!("{:#x}", range.start),
                    &reason,
                ))
            }
            None if range.was_allocated => {
                let reason = "the memory was freed before the stream used it";
                Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, range.name, format!("{:#x}", range.start), reason))
            }
            _ => Ok(()),
        }
    }
}

/// Memory that a copy reads or writes.
#[derive(Clone, Copy)]
pub struct Range {
    pub name: &'static str,
    pub start: usize,
    pub size: usize,
    /// Whether it was in an allocation when the copy was queued.
    pub was_allocated: bool,
}

/// Allocates at least one byte. The content is undefined.
pub fn allocate(size: usize, location: Location) -> Result<*mut c_void, Failure> {
    let no_room = || {
        let text = format!("there is no room for {size} bytes");
        Failure::new(codes::RT_MEMORY_ALLOCATION, "EE1003", text)
    };
    let layout = Layout::from_size_align(size.max(1), ALIGNMENT).map_err(|_| no_room())?;
    let mut allocations = ALLOCATIONS.lock();
    // Memory of the host does not count, but no allocation may be larger than the machine.
    let counted = if location == Location::Device { allocations.on_device } else { 0 };
    let used = counted.checked_add(layout.size());
    if used.is_none_or(|used| used > device_memory()) {
        return Err(no_room());
    }
    // SAFETY: the size is not 0.
    let address = unsafe { std::alloc::alloc(layout) };
    if address.is_null() {
        return Err(no_room());
    }
    if location == Location::Device {
        allocations.on_device += layout.size();
    }
    allocations.known.insert(address.expose_provenance(), Allocation { layout, location });
    Ok(address.cast())
}

/// Frees memory that `allocate` returned for this location.
pub fn free(address: *mut c_void, location: Location) -> Result<(), Failure> {
    let number = address.addr();
    let mut allocations = ALLOCATIONS.lock();
    if allocations.known.get(&number).is_none_or(|allocation| allocation.location != location) {
        let reason = match location {
            Location::Device => "no memory of the device begins there; was it freed before?",
            Location::Host => "no memory that aclrtMallocHost returned begins there; was it freed before?",
        };
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "ptr", format!("{number:#x}"), reason));
    }
    allocations.take(number);
    Ok(())
}

/// Frees all memory of the device.
pub fn free_device() {
    let mut allocations = ALLOCATIONS.lock();
    let of_device = allocations.known.iter().filter(|(_, allocation)| allocation.location == Location::Device);
    let starts: Vec<usize> = of_device.map(|(start, _)| *start).collect();
    starts.into_iter().for_each(|start| allocations.take(start));
}

/// Returns how many bytes of the device are allocated.
pub fn allocated() -> usize {
    ALLOCATIONS.read().on_device
}

/// Returns the bytes from an address to the end of its allocation; `None` for memory that was not allocated here.
pub fn room_at(address: *const c_void) -> Option<usize> {
    ALLOCATIONS.read().room_at(address.addr())
}

/// Checks ranges, and calls `body`. None of the ranges is freed meanwhile.
pub fn with<const N: usize>(ranges: [Range; N], body: impl FnOnce()) -> Result<(), Failure> {
    let allocations = ALLOCATIONS.read();
    ranges.iter().try_for_each(|range| allocations.check(range))?;
    body();
    Ok(())
}
