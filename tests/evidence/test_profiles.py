"""Functions of kernels and their categories."""

from __future__ import annotations

import pytest

from netlimits.evidence.profiles.stacks import (
    CALLER,
    UNSORTED,
    Function,
    _patterns,
    of_function,
    of_stack,
)
from netlimits.model.cpu_categories import CATEGORIES, IDLE


@pytest.mark.parametrize(
    ("function", "category"),
    [
        ("copy_user_enhanced_fast_string", "copy"),  # 6.1
        ("rep_movs_alternative", "copy"),  # 6.4 and later
        ("_copy_from_iter", "copy"),
        ("csum_and_copy_from_iter", "copy"),
        ("csum_partial", "checksum"),
        ("skb_release_data", "memory"),
        ("kmem_cache_alloc_node", "memory"),
        ("tcp_sendmsg_locked", "tcpip"),
        ("tcp_gro_receive", "segmentation"),
        ("skb_segment", "segmentation"),
        ("pfifo_fast_dequeue", "qdisc"),
        ("start_xmit", "driver"),
        ("skb_network_protocol", "driver"),
        ("ipt_do_table", "netfilter"),
        ("sock_poll", "socket"),
        ("__schedule", "scheduling"),
        ("try_to_wake_up", "scheduling"),
        ("_raw_spin_unlock_irqrestore", "locking"),
        ("native_queued_spin_lock_slowpath", "locking"),
        ("handle_softirqs", "interrupts"),
        ("__do_softirq", "interrupts"),
        ("chacha_block_xor_avx512vl", "crypto"),
        ("pv_native_safe_halt", "idle"),
        ("memset_orig", CALLER),
        ("tcp_ack.constprop.0", "tcpip"),
        ("no_such_function", UNSORTED),
    ],
)
def test_names_of_kernels_since_6_1(function, category):
    assert of_function(function) == category


def test_a_module_tells_what_its_functions_do():
    assert of_function("no_such_function", "wireguard") == "crypto"
    assert of_function("no_such_function", "mlx5_core") == "driver"
    assert of_function("no_such_function", "unknown") == UNSORTED


def test_a_helper_works_for_its_caller():
    helper = Function("memset", kernel=True)
    assert of_stack([Function("f"), Function("__alloc_skb", kernel=True), helper]) == "memory"
    assert of_stack([Function("f"), helper]) == "socket"
    assert of_stack([helper]) == "other"


def test_every_pattern_has_a_category():
    of_functions, of_modules = _patterns()
    known = {*CATEGORIES, IDLE, CALLER}
    assert {*of_functions.categories, *of_modules.categories} <= known
