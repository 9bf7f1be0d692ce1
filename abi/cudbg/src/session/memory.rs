use std::ops::Range;

use opscope_debug::client::Client;
use opscope_debug::expression::TensorRef;
use opscope_debug::protocol::At;
use opscope_debug::{DebugError, ErrorCode, Moment, Sequence};
use opscope_tensor::{DType, Tensor};

use super::Session;
use super::control::require_suspended;
use super::stops::Stop;
use crate::addresses::TensorPlace;
use crate::border::{Failure, Status};

/// A tensor whose address range contains an address.
struct Found {
    place: TensorPlace,
    /// The value's name in the file.
    name: String,
    is_initializer: bool,
    /// The stopped runs of the model.
    stops: Vec<(Sequence, Option<Moment>)>,
}

/// The size in bytes of the units that elements are read in. A unit has a whole number of elements of any type.
const UNIT: u64 = 16;

impl Session {
    /// Reads bytes of a tensor of the run that is stopped in a warp. Without a warp, reads it from the only stopped run
    /// that has it.
    ///
    /// # Errors
    /// Returns an error if the device runs, if there is no tensor at the address, if the tensor is too short, or if
    /// several runs have it.
    pub fn read_memory(&self, address: u64, size: usize, warp: Option<u32>) -> Result<Vec<u8>, Failure> {
        if size == 0 {
            return Ok(Vec::new());
        }
        let found = self.find(address, warp)?;
        let (at, dtype, bytes) = self.holder(&found)?;
        let range = within(&found.place, size, bytes)?;
        let reference = TensorRef::Value(found.name);
        let each = dtype.elements_in(UNIT as usize).unwrap_or(1) as u64;
        let first = range.start / UNIT;
        let mut read = Vec::new();
        while (read.len() as u64) < range.end - first * UNIT {
            let have = dtype.elements_in(read.len()).unwrap_or_default() as u64;
            let wanted = (range.end.div_ceil(UNIT) - first) * each - have;
            let page = self.client.tensor(at, &reference, first * each + have, wanted)?;
            if page.bytes.is_empty() {
                return Err(Failure::new(
                    Status::InvalidMemoryAccess,
                    format!("{reference} has fewer bytes than it had"),
                ));
            }
            read.extend_from_slice(&page.bytes);
        }
        let skipped = (range.start - first * UNIT) as usize;
        Ok(read[skipped..skipped + size].to_vec())
    }

    /// Writes bytes of a tensor: an input before an operator, or an output after it. The run continues with the changed
    /// tensor.
    ///
    /// # Errors
    /// Returns the errors of [`read_memory`](Self::read_memory), and an error if the tensor cannot be changed where the
    /// run is stopped.
    pub fn write_memory(&self, address: u64, data: &[u8], warp: Option<u32>) -> Result<(), Failure> {
        if data.is_empty() {
            return Ok(());
        }
        let found = self.find(address, warp)?;
        let (at, _, bytes) = self.holder(&found)?;
        let range = within(&found.place, data.len(), bytes)?;
        let refuse = |reason: &str| Failure::new(Status::InvalidMemoryAccess, format!("{} {reason}", found.name));
        let At::Event(event) = at else { return Err(refuse("is of the model's file, which is only read")) };
        let moment = found.stops.iter().find(|(stopped, _)| *stopped == event).and_then(|(_, moment)| *moment);
        let location = self.client.location(event)?;
        let slots = if moment == Some(Moment::After) { location.outputs } else { location.inputs };
        let slot = slots.into_iter().find(|slot| slot.value.as_ref() == Some(&found.name));
        let slot = slot.ok_or_else(|| {
            refuse("cannot be changed here: before an operator its inputs can be changed, and after it its outputs")
        })?;
        if slot.constant {
            return Err(refuse("is the same in every run, and is only read"));
        }
        let tensor = self.client.whole_tensor(event, &slot.reference)?;
        let mut changed = tensor.bytes().to_vec();
        changed[range.start as usize..range.end as usize].copy_from_slice(data);
        let changed = Tensor::new(tensor.dtype(), tensor.shape().to_vec(), changed).map_err(DebugError::from)?;
        Ok(self.client.replace(event, &slot.reference, &changed)?)
    }

    fn find(&self, address: u64, warp: Option<u32>) -> Result<Found, Failure> {
        let mut state = self.state();
        require_suspended(&mut state)?;
        let nothing = || Failure::new(Status::AddressNotInDeviceMem, format!("no tensor is at {address:#x}"));
        let place = state.addresses.tensor_at(address).ok_or_else(nothing)?;
        let module = state.modules.get(&place.model).ok_or_else(nothing)?;
        let value = module.graph.values.get(place.value as usize).ok_or_else(nothing)?;
        let (name, is_initializer) = (value.name.clone(), value.is_initializer);
        let is_here = |stop: &Stop| {
            stop.place.as_ref().is_some_and(|at| at.model == place.model) && (warp.is_none() || stop.warp == warp)
        };
        let here = state.stops().filter(|(_, stop)| is_here(stop));
        let stops = here.map(|(event, stop)| (event, stop.moment())).collect();
        Ok(Found { place, name, is_initializer, stops })
    }

    /// Returns where a tensor can be read, the type of its elements, and how many bytes it has.
    fn holder(&self, found: &Found) -> Result<(At, DType, u64), Failure> {
        let reference = TensorRef::Value(found.name.clone());
        let mut holders = Vec::new();
        let mut missing = None;
        for (event, _) in &found.stops {
            match form(&self.client, At::Event(*event), &reference) {
                Ok((dtype, bytes)) => holders.push((At::Event(*event), dtype, bytes)),
                Err(error) if error.code() == ErrorCode::NoSuchTensor => missing = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        if found.is_initializer && holders.is_empty() {
            let at = At::Model(found.place.model);
            let (dtype, bytes) = form(&self.client, at, &reference)?;
            return Ok((at, dtype, bytes));
        }
        if holders.len() > 1 && !found.is_initializer {
            let text = format!("{} runs have {}; read it through the warp of one", holders.len(), found.name);
            return Err(Failure::new(Status::AmbiguousMemoryAddress, text));
        }
        holders.into_iter().next().ok_or_else(|| {
            let reason = missing.map_or_else(|| "no run of its model is stopped".to_owned(), |error| error.to_string());
            Failure::new(Status::AddressNotInDeviceMem, format!("{} cannot be read now: {reason}", found.name))
        })
    }
}

/// Returns the type of a tensor's elements, and how many bytes it has.
fn form(client: &Client, at: At, reference: &TensorRef) -> Result<(DType, u64), DebugError> {
    let page = client.tensor(at, reference, 0, 0)?;
    let bytes = page.dtype.bytes_of(page.elements as usize).unwrap_or_default();
    Ok((page.dtype, bytes as u64))
}

/// Returns the range of a tensor's bytes that begins at a place and has this size.
fn within(place: &TensorPlace, size: usize, bytes: u64) -> Result<Range<u64>, Failure> {
    let end = place.offset.checked_add(size as u64).filter(|end| *end <= bytes);
    let end = end.ok_or_else(|| {
        let text = format!("the tensor has {bytes} bytes, and {size} from byte {} on were asked for", place.offset);
        Failure::new(Status::InvalidMemoryAccess, text)
    })?;
    Ok(place.offset..end)
}
