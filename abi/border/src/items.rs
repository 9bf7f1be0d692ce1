use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::copy_nonoverlapping;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use crate::{Argument, ArgumentError};

/// NULL, or a C array that a function reads. It can be read once its count is known: see [`Counted`].
///
/// C guarantees that all elements, as many as the count beside the pointer says, can be read and do not change during
/// the call.
#[repr(transparent)]
#[derive(Debug)]
pub struct Items<'a, T>(*const T, PhantomData<&'a [T]>);

/// NULL, or bytes from C that a function reads: [`Items`] without a type.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a>(*const c_void, PhantomData<&'a [u8]>);

/// NULL, or a C array that a function writes. It can be written once its count is known: see [`Room`].
///
/// C guarantees that all elements, as many as the count beside the pointer says, can be written during the call.
#[repr(transparent)]
#[derive(Debug)]
pub struct ItemsOut<'a, T>(*mut T, PhantomData<&'a mut [T]>);

/// NULL, or a C array that a function reads and writes. C guarantees what it guarantees for [`Items`] and for
/// [`ItemsOut`]. It can be used once its count is known: see [`Changed`].
#[repr(transparent)]
#[derive(Debug)]
pub struct ItemsInOut<'a, T>(*mut T, PhantomData<&'a mut [T]>);

/// A C array with its count.
#[derive(Debug)]
pub struct Counted<'a, T> {
    items: *const T,
    count: usize,
    lifetime: PhantomData<&'a [T]>,
}

/// C memory for results, with the number of results that it can hold.
#[derive(Debug)]
pub struct Room<'a, T> {
    items: *mut T,
    count: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

/// A C array that is read and written, with its count.
#[derive(Debug)]
pub struct Changed<'a, T> {
    items: *mut T,
    count: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

/// An integer type that C uses for counts.
pub trait Count {
    /// Returns the count. One that does not fit becomes larger than any array; a negative one becomes 0.
    fn count(self) -> usize;
}

impl Count for usize {
    #[inline]
    fn count(self) -> usize {
        self
    }
}

impl Count for u32 {
    #[inline]
    fn count(self) -> usize {
        self as usize
    }
}

impl Count for u64 {
    #[inline]
    fn count(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

impl Count for i32 {
    #[inline]
    fn count(self) -> usize {
        usize::try_from(self).unwrap_or(0)
    }
}

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Items<'_, T> {}

impl<'a, T> Items<'a, T> {
    /// No array.
    pub const NULL: Self = Self(std::ptr::null(), PhantomData);

    /// Returns the pointer.
    #[inline]
    pub fn as_ptr(self) -> *const T {
        self.0
    }

    /// Returns the array with its count.
    ///
    /// # Safety
    /// It is the count of this array.
    #[inline]
    pub unsafe fn counted(self, count: impl Count) -> Counted<'a, T> {
        Counted { items: self.0, count: count.count(), lifetime: PhantomData }
    }
}

impl<'a, T> From<&'a [T]> for Items<'a, T> {
    /// Returns an array in the form for C: NULL if it is empty.
    fn from(items: &'a [T]) -> Self {
        if items.is_empty() { Self::NULL } else { Self(items.as_ptr(), PhantomData) }
    }
}

impl<'a> Bytes<'a> {
    /// Returns the pointer.
    #[inline]
    pub fn as_ptr(self) -> *const c_void {
        self.0
    }

    /// Returns the bytes with their count.
    ///
    /// # Safety
    /// It is the count of these bytes.
    #[inline]
    pub unsafe fn counted(self, count: impl Count) -> Counted<'a, u8> {
        Counted { items: self.0.cast(), count: count.count(), lifetime: PhantomData }
    }
}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(bytes.as_ptr().cast(), PhantomData)
    }
}

impl<'a, T> ItemsOut<'a, T> {
    /// No memory.
    pub const NULL: Self = Self(std::ptr::null_mut(), PhantomData);

    /// Takes a pointer from C.
    ///
    /// # Safety
    /// It satisfies the guarantee of this type, with the count that it is later used with.
    pub const unsafe fn from_ptr(pointer: *mut T) -> Self {
        Self(pointer, PhantomData)
    }

    /// Returns the memory with its count.
    ///
    /// # Safety
    /// It is the count of this memory.
    #[inline]
    pub unsafe fn counted(self, count: impl Count) -> Room<'a, T> {
        Room { items: self.0, count: count.count(), lifetime: PhantomData }
    }
}

impl<'a, T> ItemsInOut<'a, T> {
    /// Returns the array with its count.
    ///
    /// # Safety
    /// It is the count of this array.
    #[inline]
    pub unsafe fn counted(self, count: impl Count) -> Changed<'a, T> {
        Changed { items: self.0, count: count.count(), lifetime: PhantomData }
    }
}

impl<'a, T> Changed<'a, T> {
    /// Returns the count.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether the pointer is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.items.is_null()
    }

    /// Returns the elements. The pointer may be NULL only if there are none.
    #[inline]
    pub fn get(self, name: &'static str) -> Result<&'a mut [T], ArgumentError> {
        match self.count {
            0 => Ok(&mut []),
            count if self.items.is_null() => Err(ArgumentError::Null { what: Argument::Items(count), name }),
            _ if !self.items.is_aligned() => Err(ArgumentError::Misaligned(name)),
            count if is_too_long::<T>(count) => Err(ArgumentError::TooLong(name)),
            // SAFETY: it is neither NULL nor misaligned nor too long, and `ItemsInOut` guarantees the rest.
            count => Ok(unsafe { from_raw_parts_mut(self.items, count) }),
        }
    }
}

impl<T> Clone for Counted<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Counted<'_, T> {}

impl<'a, T> Counted<'a, T> {
    /// Takes a C array that was passed in another way.
    ///
    /// # Safety
    /// The pointer satisfies the guarantee of [`Items`] with this count.
    pub const unsafe fn from_raw_parts(items: *const T, count: usize) -> Self {
        Self { items, count, lifetime: PhantomData }
    }

    /// Returns the count.
    #[inline]
    pub fn count(self) -> usize {
        self.count
    }

    /// Returns the pointer.
    #[inline]
    pub fn as_ptr(self) -> *const T {
        self.items
    }

    /// Returns whether the pointer is NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        self.items.is_null()
    }

    /// Returns the elements. The pointer may be NULL only if there are none.
    #[inline]
    pub fn get(self, name: &'static str) -> Result<&'a [T], ArgumentError> {
        match self.count {
            0 => Ok(&[]),
            count if self.items.is_null() => Err(ArgumentError::Null { what: Argument::Items(count), name }),
            _ if !self.items.is_aligned() => Err(ArgumentError::Misaligned(name)),
            count if is_too_long::<T>(count) => Err(ArgumentError::TooLong(name)),
            // SAFETY: it is neither NULL nor misaligned nor too long, and `Items` guarantees the rest.
            count => Ok(unsafe { from_raw_parts(self.items, count) }),
        }
    }

    /// Returns the elements. More than `most` are an error.
    #[inline]
    pub fn at_most(self, most: usize, name: &'static str) -> Result<&'a [T], ArgumentError> {
        if self.count > most {
            return Err(ArgumentError::TooMany { name, count: self.count, most });
        }
        self.get(name)
    }
}

impl<'a, T> Room<'a, T> {
    /// Returns how many elements fit.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether the pointer is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.items.is_null()
    }

    /// Returns the memory. The pointer may be NULL only if nothing fits.
    #[inline]
    pub fn get(self, name: &'static str) -> Result<&'a mut [MaybeUninit<T>], ArgumentError> {
        match self.count {
            0 => Ok(&mut []),
            count if self.items.is_null() => Err(ArgumentError::Null { what: Argument::Items(count), name }),
            _ if !self.items.is_aligned() => Err(ArgumentError::Misaligned(name)),
            count if is_too_long::<T>(count) => Err(ArgumentError::TooLong(name)),
            // SAFETY: it is neither NULL nor misaligned nor too long, and `ItemsOut` guarantees the rest.
            count => Ok(unsafe { from_raw_parts_mut(self.items.cast(), count) }),
        }
    }
}

impl<T: Copy> Room<'_, T> {
    /// Writes these elements, which must fit. The memory need not be aligned.
    #[inline]
    pub fn write_all(&self, items: &[T], name: &'static str) -> Result<(), ArgumentError> {
        if items.is_empty() {
            return Ok(());
        }
        if self.items.is_null() {
            return Err(ArgumentError::Null { what: Argument::Items(self.count), name });
        }
        if items.len() > self.count {
            return Err(ArgumentError::TooLong(name));
        }
        // SAFETY: the memory is not NULL, `ItemsOut` guarantees that it can be written, and the elements fit. They are
        // copied as bytes, which need no alignment. C's memory does not overlap the elements.
        unsafe { copy_nonoverlapping(items.as_ptr().cast::<u8>(), self.items.cast::<u8>(), size_of_val(items)) };
        Ok(())
    }
}

impl Room<'_, u8> {
    /// Writes a text and a NUL at its end, which must fit.
    pub fn write_text(self, text: &[u8], name: &'static str) -> Result<(), ArgumentError> {
        let room = self.get(name)?;
        if room.len() <= text.len() {
            return Err(ArgumentError::TooLong(name));
        }
        room.iter_mut().zip(text.iter().chain([&0])).for_each(|(to, byte)| _ = to.write(*byte));
        Ok(())
    }
}

fn is_too_long<T>(count: usize) -> bool {
    count > isize::MAX as usize / size_of::<T>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_read_if_it_can_be_one() {
        let items = [1_u32, 2, 3];
        let own = Items::from(&items[..]);
        // SAFETY: there are three, and an array with a wrong count is refused.
        let counted = |items: Items<'static, u32>, count: usize| unsafe { items.counted(count) }.get("items");
        // SAFETY: as above.
        assert_eq!(unsafe { own.counted(3_u32) }.get("items"), Ok(&items[..]));
        // SAFETY: as above.
        let few = unsafe { own.counted(3_u64) }.at_most(2, "items");
        assert_eq!(few, Err(ArgumentError::TooMany { name: "items", count: 3, most: 2 }));
        assert_eq!(counted(Items::NULL, 0), Ok(&[][..]));
        let null = ArgumentError::Null { what: Argument::Items(1), name: "items" };
        assert_eq!(counted(Items::NULL, 1), Err(null));
        let aligned = Items(std::ptr::without_provenance(8), PhantomData);
        assert_eq!(counted(aligned, usize::MAX), Err(ArgumentError::TooLong("items")));
        let misaligned = Items(std::ptr::without_provenance(9), PhantomData);
        assert_eq!(counted(misaligned, 1), Err(ArgumentError::Misaligned("items")));
    }

    #[test]
    fn a_text_is_written_with_its_end_or_not_at_all() {
        let mut memory = [9_u8; 4];
        let room = |memory: &mut [u8; 4], count: usize| {
            // SAFETY: there are four, and the count is at most four.
            unsafe { ItemsOut(memory.as_mut_ptr(), PhantomData).counted(count) }
        };
        assert_eq!(room(&mut memory, 3).write_text(b"npu", "path"), Err(ArgumentError::TooLong("path")));
        assert_eq!(memory, [9; 4]);
        assert_eq!(room(&mut memory, 4).write_text(b"acl", "path"), Ok(()));
        assert_eq!(&memory, b"acl\0");
    }

    #[test]
    fn elements_are_written_where_there_is_room_for_all_of_them() {
        let mut memory = [9_u8; 6];
        let at = memory[1..].as_mut_ptr().cast::<u16>();
        // SAFETY: there are two of two bytes.
        let room = unsafe { ItemsOut::from_ptr(at).counted(2_u32) };
        assert_eq!(room.write_all(&[0; 3], "words"), Err(ArgumentError::TooLong("words")));
        assert_eq!(room.write_all(&[0x0101, 0x0202], "words"), Ok(()));
        assert_eq!(memory, [9, 1, 1, 2, 2, 9]);
        // SAFETY: NULL is what the type promises.
        let (none, one) = unsafe { (ItemsOut::<u16>::NULL.counted(0_u32), ItemsOut::<u16>::NULL.counted(1_u32)) };
        assert_eq!(none.write_all(&[], "words"), Ok(()));
        let null = ArgumentError::Null { what: Argument::Items(1), name: "words" };
        assert_eq!(one.write_all(&[1], "words"), Err(null));
    }

    #[test]
    fn an_array_is_changed_in_its_place() {
        let mut numbers = [1_u32, 2, 3];
        let changed = |at: *mut u32, count: usize| {
            // SAFETY: there are three, and the count is at most that, or nothing is read.
            unsafe { ItemsInOut(at, PhantomData).counted(count) }
        };
        let place = numbers.as_mut_ptr();
        for number in changed(place, 2).get("numbers").expect("two numbers") {
            *number += 10;
        }
        assert_eq!(numbers, [11, 12, 3]);
        let place = numbers.as_mut_ptr();
        let misaligned = changed(place.wrapping_byte_add(1), 1).get("numbers");
        assert_eq!(misaligned, Err(ArgumentError::Misaligned("numbers")));
        assert!(changed(std::ptr::null_mut(), 0).get("numbers").is_ok_and(|none| none.is_empty()));
        assert!(changed(std::ptr::null_mut(), 1).get("numbers").is_err());
    }

    #[test]
    fn counts_are_not_cut_off() {
        assert_eq!(
            (u64::MAX.count(), u32::MAX.count(), (-1_i32).count(), 7_usize.count()),
            (usize::MAX, 0xffff_ffff, 0, 7)
        );
    }
}
