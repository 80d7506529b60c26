// SPDX-License-Identifier: MIT
//! rust_locks [ROUNDS]: two threads wait for each other by an atomic, and one for the other by a
//! Mutex and a Condvar of the standard library. Written as `contended` does.
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

extern "C" {
    fn gettid() -> i32;
}

static WORD: AtomicBool = AtomicBool::new(false);
static TAKEN: AtomicU64 = AtomicU64::new(0);
static READY: AtomicU64 = AtomicU64::new(0);
static MUTEX: Mutex<u64> = Mutex::new(0);
static CONDITION: Condvar = Condvar::new();

/// Returns how many checks failed.
#[inline(never)]
#[no_mangle]
fn lock_rust_spin() -> u64 {
    let mut trips = 0;
    while WORD.swap(true, Ordering::Acquire) {
        spin_loop();
        trips += 1;
    }
    trips
}

#[inline(never)]
#[no_mangle]
fn lock_rust_mutex() -> u64 {
    let mut guard = MUTEX.lock().unwrap();
    *guard += 1;
    *guard
}

#[inline(never)]
#[no_mangle]
fn wait_rust_condition(round: u64) {
    let mut guard = MUTEX.lock().unwrap();
    while *guard <= round {
        guard = CONDITION.wait(guard).unwrap();
    }
}

fn write(function: &str, acquisitions: u64, waits: i64, trips: u64) {
    println!(
        "{{\"lock\": \"rust\", \"function\": \"{}\", \"tid\": {}, \"acquisitions\": {}, \"waits\": {}, \"trips\": {}}}",
        function,
        unsafe { gettid() },
        acquisitions,
        waits,
        trips
    );
}

fn spin(rounds: u64) {
    let (mut waits, mut trips) = (0, 0);
    for _ in 0..rounds {
        READY.fetch_add(1, Ordering::SeqCst);
        let failed = lock_rust_spin();
        trips += failed;
        waits += (failed > 0) as i64;
        let taken = TAKEN.fetch_add(1, Ordering::SeqCst) + 1;
        // The holder waits until the other thread has come to the lock, too.
        while READY.load(Ordering::SeqCst) <= taken && taken < 2 * rounds {
            thread::sleep(Duration::from_micros(100));
        }
        thread::sleep(Duration::from_micros(300));
        WORD.store(false, Ordering::Release);
        while TAKEN.load(Ordering::SeqCst) == taken && taken < 2 * rounds {
            thread::sleep(Duration::from_micros(100));
        }
    }
    write("lock_rust_spin", rounds, waits, trips);
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(10, |word| word.parse().unwrap());
    let other = thread::spawn(move || spin(rounds));
    spin(rounds);
    other.join().unwrap();
    READY.store(0, Ordering::SeqCst);

    // While this thread has the mutex, the other one sleeps; its waits are certain where it had
    // time to come there.
    let other = thread::spawn(move || {
        for _ in 0..rounds {
            READY.fetch_add(1, Ordering::SeqCst);
            lock_rust_mutex();
        }
        write("lock_rust_mutex", rounds, rounds as i64, 0);
    });
    for round in 0..rounds {
        let guard = MUTEX.lock().unwrap();
        while READY.load(Ordering::SeqCst) <= round {
            thread::sleep(Duration::from_micros(100));
        }
        thread::sleep(Duration::from_millis(2));
        drop(guard);
        while *MUTEX.lock().unwrap() <= round {
            thread::sleep(Duration::from_millis(1));
        }
    }
    other.join().unwrap();

    *MUTEX.lock().unwrap() = 0;
    let other = thread::spawn(move || {
        for round in 0..rounds {
            wait_rust_condition(round);
        }
        write("wait_rust_condition", rounds, rounds as i64, 0);
    });
    for _ in 0..rounds {
        thread::sleep(Duration::from_millis(2));
        *MUTEX.lock().unwrap() += 1;
        CONDITION.notify_all();
    }
    other.join().unwrap();
}
