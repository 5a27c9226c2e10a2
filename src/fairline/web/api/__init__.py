"""The API calls for people in line, for protected sites and for everyone. (Those for operators are in `admin`.)"""
