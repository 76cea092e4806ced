//! A heap that begins in the program itself.
//!
//! What an idle process allocates fits into a page or two. Asked of the kernel, they lie apart from the
//! program's own variables, and each has a page that is nearly empty; thousands of idle keepers have that
//! thousands of times. So the heap's first part is a variable like others, right behind them.

use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const PAGE: usize = 4096;
/// What a plain launch uses; a keeper has less than half of it before it first sleeps.
const FIRST: usize = 4 * PAGE;
/// What is asked of the kernel at least, so that it is seldom asked.
const MORE: usize = 16 * PAGE;

/// The memory of a program, to be its `#[global_allocator]`.
#[derive(Debug)]
pub struct Heap;

static HEAP: Mutex<Dlmalloc<Source>> = Mutex::new(heap());
#[cfg_attr(target_os = "linux", unsafe(link_section = ".bss.outlive_first"))]
static FIRST_PART: Part = Part(UnsafeCell::new(MaybeUninit::uninit()));

const fn heap() -> Dlmalloc<Source> {
    let mut heap = Dlmalloc::new_with_allocator(Source {
        given: AtomicUsize::new(0),
    });
    // What is left of a page may be little, and is to be enough.
    heap.set_granularity(64);
    heap
}

#[repr(align(16))]
struct Part(UnsafeCell<MaybeUninit<[u8; FIRST]>>);

// SAFETY: nobody has the memory but the heap, which is given it once and is behind a lock.
unsafe impl Sync for Part {}

/// Where a heap has its memory from: its first part, page by page, then the kernel.
struct Source {
    /// How much of the first part.
    given: AtomicUsize,
}

impl Source {
    /// So much more of the first part, and what is left of the last page of it.
    fn more_of_first(&self, size: usize) -> Option<(*mut u8, usize)> {
        let given = self.given.load(Ordering::Relaxed);
        let first: *mut u8 = FIRST_PART.0.get().cast();
        let at = first.wrapping_add(given);
        let end = at
            .wrapping_add(size)
            .map_addr(|end| end.next_multiple_of(PAGE));
        let until = end.addr() - first.addr();
        (until <= FIRST).then(|| {
            self.given.store(until, Ordering::Relaxed);
            (at, until - given)
        })
    }
}

// SAFETY: what is given of the first part is given once and never taken back; everything else is a mapping
// of its own.
unsafe impl Allocator for Source {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        if let Some((at, size)) = self.more_of_first(size) {
            return (at, size, 0);
        }
        let size = size.max(MORE).next_multiple_of(PAGE);
        // SAFETY: a new mapping, where there is none yet.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_ANONYMOUS | libc::MAP_PRIVATE,
                -1,
                0,
            )
        };
        match at {
            libc::MAP_FAILED => (ptr::null_mut(), 0, 0),
            at => (at.cast(), size, 0),
        }
    }

    fn remap(&self, at: *mut u8, old: usize, new: usize, can_move: bool) -> *mut u8 {
        let how = if can_move { libc::MREMAP_MAYMOVE } else { 0 };
        // SAFETY: a mapping made above, of which the heap has given nothing away that it does not move.
        match unsafe { libc::mremap(at.cast(), old, new, how) } {
            libc::MAP_FAILED => ptr::null_mut(),
            at => at.cast(),
        }
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: a mapping made above, and the heap has given nothing away of what goes.
        !is_first(at) && unsafe { libc::mremap(at.cast(), old, new, 0) != libc::MAP_FAILED }
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        // SAFETY: a mapping made above, of which the heap has given nothing away.
        !is_first(at) && unsafe { libc::munmap(at.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

/// Whether this is of the first part, which stays.
fn is_first(at: *mut u8) -> bool {
    let first = FIRST_PART.0.get().addr();
    (first..first + FIRST).contains(&at.addr())
}

fn locked() -> MutexGuard<'static, Dlmalloc<Source>> {
    HEAP.lock().unwrap_or_else(PoisonError::into_inner)
}

// Not parts of their callers, of whom there are thousands.
//
// SAFETY: `Dlmalloc` keeps the promises of an allocator, and is behind a lock.
unsafe impl GlobalAlloc for Heap {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { locked().malloc(layout.size(), layout.align()) }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { locked().calloc(layout.size(), layout.align()) }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { locked().free(at, layout.size(), layout.align()) }
    }

    #[inline(never)]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { locked().realloc(at, layout.size(), layout.align(), size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 16).expect("a size and a power of two")
    }

    /// One after the other, of all sizes, some given back in between: nobody's memory is another's.
    #[test]
    fn begins_in_the_program_and_goes_on_elsewhere() {
        let mut held: Vec<(*mut u8, usize, u8)> = Vec::new();
        let mut is_of_first = Vec::new();
        for step in 0..2_000_usize {
            let (size, mark) = (1 + step * 37 % 700, (step % 251) as u8);
            // SAFETY: the size is not zero, and what is written is what was had.
            unsafe {
                let at = Heap.alloc(layout(size));
                assert!(!at.is_null());
                at.write_bytes(mark, size);
                is_of_first.push(is_first(at));
                held.push((at, size, mark));
            }
            if step % 3 == 0 {
                let (at, size, mark) = held.swap_remove(step * 7 % held.len());
                // SAFETY: had above, with this layout, and forgotten here.
                unsafe {
                    assert!(
                        std::slice::from_raw_parts(at, size)
                            .iter()
                            .all(|b| *b == mark)
                    );
                    let at = Heap.realloc(at, layout(size), size * 2);
                    assert!(
                        std::slice::from_raw_parts(at, size)
                            .iter()
                            .all(|b| *b == mark)
                    );
                    Heap.dealloc(at, layout(size * 2));
                }
            }
        }
        for (at, size, mark) in held {
            // SAFETY: as above.
            unsafe {
                assert!(
                    std::slice::from_raw_parts(at, size)
                        .iter()
                        .all(|b| *b == mark)
                );
                Heap.dealloc(at, layout(size));
            }
        }
        assert!(is_of_first[0] && !is_of_first[is_of_first.len() - 1]);

        let large = layout(5 << 20);
        // SAFETY: as above.
        unsafe {
            let at = Heap.alloc_zeroed(large);
            assert!(
                !is_first(at)
                    && std::slice::from_raw_parts(at, large.size())
                        .iter()
                        .all(|b| *b == 0)
            );
            Heap.dealloc(at, large);
            assert!(
                is_first(Heap.alloc(layout(100))),
                "what was given back is had again"
            );
        }
    }
}
