"""Watches over Python code of rules in a process: says whose it is, how long and how large it is.

note            which rule's code is at work, in a file that outlives the process
worker_limits   how long a call may take, and how much memory the process may have
code_watch      notes every call, and ends the process where one does not return
"""
